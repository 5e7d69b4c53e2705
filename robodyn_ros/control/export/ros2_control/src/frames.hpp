// Copyright 2026 robodyn_ros maintainers
// SPDX-License-Identifier: Apache-2.0

// Frames that are no links of the arm, such as that of a camera: their poses by tf, if tf2_ros is installed.

#ifndef FRAMES_HPP
#define FRAMES_HPP

#include <memory>
#include <string>

#include "arm.h"
#include "geometry_msgs/msg/transform.hpp"
#include "package.hpp"
#include "rclcpp/rclcpp.hpp"

#if __has_include("tf2_ros/transform_listener.hpp")
#include "tf2_ros/buffer.hpp"
#include "tf2_ros/transform_listener.hpp"
#define HAS_TF
#elif __has_include("tf2_ros/transform_listener.h")
#include "tf2_ros/buffer.h"
#include "tf2_ros/transform_listener.h"
#define HAS_TF
#endif

namespace PACKAGE_NAMESPACE
{

#ifdef HAS_TF

class Frames
{
public:
  template <class Node>
  void listen(const Node & node)
  {
    buffer_ = std::make_unique<tf2_ros::Buffer>(node->get_clock());
    listener_ = std::make_unique<tf2_ros::TransformListener>(*buffer_, node, true);  // in a thread of its own
  }

  void stop_listening()
  {
    listener_.reset();
    buffer_.reset();
  }

  /// The newest transform of a frame to another; false, and the problem as text, if there is none or it is too old.
  bool find(
    const std::string & to, const std::string & name, double now, geometry_msgs::msg::Transform & found,
    std::string & problem) const
  {
    if (!buffer_) {  // a message that was under way while the controller was cleaned up
      problem = "the frame '" + name + "' is unknown, because the controller is not configured";
      return false;
    }
    try {
      const auto told = buffer_->lookupTransform(to, name, tf2::TimePointZero);
      const double stamp = static_cast<double>(told.header.stamp.sec) + static_cast<double>(told.header.stamp.nanosec) / 1e9;
      found = told.transform;
      if (stamp > 0.0 && now - stamp > ARM_OLDEST_FRAME) {  // static transforms have no age
        problem = "the transform of the frame '" + name + "' from tf is " + std::to_string(now - stamp) + " s old";
      }
    } catch (const tf2::TransformException & cause) {
      problem = "the frame '" + name + "' is no link of the arm, and tf has no such frame: " + cause.what();
    }
    return problem.empty();
  }

private:
  std::unique_ptr<tf2_ros::Buffer> buffer_;
  std::unique_ptr<tf2_ros::TransformListener> listener_;
};

#else

class Frames
{
public:
  template <class Node>
  void listen(const Node &)
  {
  }

  void stop_listening() {}

  bool find(
    const std::string &, const std::string & name, double, geometry_msgs::msg::Transform &, std::string & problem) const
  {
    problem = "the frame '" + name + "' is no link of the arm; others need tf2_ros, which this package was built without";
    return false;
  }
};

#endif

}  // namespace PACKAGE_NAMESPACE

#endif
