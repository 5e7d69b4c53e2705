// Copyright 2026 robodyn_ros maintainers
// SPDX-License-Identifier: Apache-2.0

// Small declarations of what an exported controller uses of tf2_ros, for tests on machines without it. What tf knows is
// what a test writes into `transforms`.

#ifndef TF2_DECLARATIONS_HPP
#define TF2_DECLARATIONS_HPP

#include <map>
#include <memory>
#include <stdexcept>
#include <string>

#include "declarations.hpp"

namespace tf2
{
struct TimePoint
{
};
constexpr TimePoint TimePointZero;
struct TransformException : std::runtime_error
{
  using std::runtime_error::runtime_error;
};
}  // namespace tf2

namespace tf2_ros
{
class Buffer
{
public:
  explicit Buffer(std::shared_ptr<rclcpp::Clock>) {}
  geometry_msgs::msg::TransformStamped lookupTransform(
    const std::string & target, const std::string & source, const tf2::TimePoint &) const
  {
    const auto found = transforms.find(source);
    if (found == transforms.end() || found->second.header.frame_id != target) {
      throw tf2::TransformException("there is no way from '" + source + "' to '" + target + "'");
    }
    return found->second;
  }
  static inline std::map<std::string, geometry_msgs::msg::TransformStamped> transforms;
};

class TransformListener
{
public:
  TransformListener(Buffer &, const std::shared_ptr<rclcpp_lifecycle::LifecycleNode> &, bool) {}
};
}  // namespace tf2_ros

#endif
