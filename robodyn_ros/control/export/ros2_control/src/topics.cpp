// Copyright 2026 robodyn_ros maintainers
// SPDX-License-Identifier: Apache-2.0

// Topics and services of the controller; not in the update thread.

#include "controller.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace PACKAGE_NAMESPACE
{

namespace
{

constexpr std::size_t MOST_POINTS = 100000;  // of a trajectory
constexpr double UNIT_TOLERANCE = 0.01;  // of the length of a quaternion

/// A pose in the form of arm_tool; false if its orientation is no quaternion of length 1.
template <class Position>
bool read_pose(const Position & p, const geometry_msgs::msg::Quaternion & o, ToolNumbers & numbers)
{
  const double length = std::sqrt(o.w * o.w + o.x * o.x + o.y * o.y + o.z * o.z);
  const double w = o.w / length, x = o.x / length, y = o.y / length, z = o.z / length;
  numbers = {p.x, p.y, p.z,                                                                            //
             1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y),                //
             2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x),                //
             2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)};
  return std::abs(length - 1.0) <= UNIT_TOLERANCE;
}

/// The time of a stamp [s].
double stamped(const builtin_interfaces::msg::Time & stamp)
{
  return static_cast<double>(stamp.sec) + static_cast<double>(stamp.nanosec) / 1e9;
}

template <class Numbers>
bool all_finite(const Numbers & numbers)
{
  return std::all_of(numbers.begin(), numbers.end(), [](double value) { return std::isfinite(value); });
}

/// The points of a trajectory, row by row; velocities, accelerations and efforts may be empty.
struct Points
{
  std::vector<double> times, positions, velocities, accelerations, efforts;
};

/// False if a point does not have one number for each joint, or has other fields than the first point.
bool read_points(const JointTrajectory & message, Points & found)
{
  const std::size_t columns = message.joint_names.size();
  const auto & first = message.points.front();
  for (const auto & point : message.points) {
    const auto add = [columns](const std::vector<double> & values, const std::vector<double> & others, std::vector<double> & to) {
      to.insert(to.end(), values.begin(), values.end());
      return values.size() == others.size() && (values.empty() || values.size() == columns);
    };
    const auto & time = point.time_from_start;
    found.times.push_back(static_cast<double>(time.sec) + static_cast<double>(time.nanosec) / 1e9);
    if (
      point.positions.size() != columns || !add(point.positions, first.positions, found.positions) ||
      !add(point.velocities, first.velocities, found.velocities) ||
      !add(point.accelerations, first.accelerations, found.accelerations) ||
      !add(point.effort, first.effort, found.efforts)) {
      return false;
    }
  }
  return true;
}

double number_at(const std::vector<double> & values, std::size_t place) { return values.empty() ? 0.0 : values[place]; }

const double * data_of(const std::vector<double> & values) { return values.empty() ? nullptr : values.data(); }

}  // namespace

void Controller::listen()
{
  auto node = get_node();
  frames_.listen(node);
  // Only the newest message of a stream is used, but a trajectory must not be lost.
  const auto newest = rclcpp::SensorDataQoS().keep_last(1);
  reference_subscription_ = node->create_subscription<JointState>(
    "~/reference", newest,
    [this](const std::shared_ptr<const JointState> message) { on_reference(*message); });
  listeners_.push_back(node->create_subscription<JointTrajectory>(
    "~/joint_trajectory", rclcpp::SystemDefaultsQoS(),
    [this](const std::shared_ptr<const JointTrajectory> message) { on_trajectory(*message); }));
  listeners_.push_back(node->create_subscription<Float64>(
    "~/speed_scaling_input", newest, [this](const std::shared_ptr<const Float64> message) {
      if (!(message->data >= 0.0 && message->data <= 1.0)) {
        return refuse("speed scaling", "it must be within 0 and 1, not " + std::to_string(message->data));
      }
      speed_ = message->data;
    }));
  listeners_.push_back(node->create_subscription<PoseStamped>(
    "~/target_pose", newest, [this](const std::shared_ptr<const PoseStamped> message) { on_pose(*message); }));
  listeners_.push_back(node->create_subscription<TwistStamped>(
    "~/target_twist", newest, [this](const std::shared_ptr<const TwistStamped> message) {
      const auto & v = message->twist.linear;
      const auto & w = message->twist.angular;
      on_tool(CORE_TWIST, "target_twist", message->header, {v.x, v.y, v.z, w.x, w.y, w.z});
    }));
  listeners_.push_back(node->create_subscription<WrenchStamped>(
    "~/target_wrench", newest, [this](const std::shared_ptr<const WrenchStamped> message) {
      const auto & f = message->wrench.force;
      const auto & m = message->wrench.torque;
      on_tool(CORE_WRENCH, "target_wrench", message->header, {f.x, f.y, f.z, m.x, m.y, m.z});
    }));
  listeners_.push_back(node->create_service<Trigger>(
    "~/hold", [this](const std::shared_ptr<Trigger::Request>, std::shared_ptr<Trigger::Response> response) {
      response->success = is_active_;
      response->message = !is_active_    ? "the controller is not active"
                          : is_chained_ ? "a latched fault is acknowledged; the chained controller has to stop the arm"
                                        : "the arm stops";
      if (is_active_) {
        request_hold();
      }
    }));
  listeners_.push_back(node->create_service<Trigger>(
    "~/tare", [this](const std::shared_ptr<Trigger::Request>, std::shared_ptr<Trigger::Response> response) {
      response->success = ARM_OBSERVES && is_active_;
      response->message = response->success ? "the estimate of the external efforts was set to zero"
                          : ARM_OBSERVES    ? "the controller is not active"
                                            : "contacts are not observed: export the package with contact.observe";
      tare_ = response->success;
    }));
}

void Controller::stop_listening()
{
  frames_.stop_listening();
  listeners_.clear();
  reference_subscription_.reset();
}

int Controller::joint_of(const std::string & name) const
{
  const auto found = std::find(joints_.begin(), joints_.end(), name);
  return found == joints_.end() ? -1 : static_cast<int>(std::distance(joints_.begin(), found));
}

void Controller::refuse(const char * what, const std::string & problem)
{
  RCLCPP_WARN_THROTTLE(
    get_node()->get_logger(), *get_node()->get_clock(), PAUSE, "%s refused: %s", what, problem.c_str());
}

/// Stop in the next update; a trajectory that waits for it came before, and is dropped.
void Controller::request_hold()
{
  core_trajectory_destroy(trajectory_.exchange(nullptr));
  hold_ = true;
}

void Controller::on_reference(const JointState & message)
{
  const std::lock_guard<std::mutex> lock(preparation_);
  const std::size_t count = message.name.size();
  StreamedReference & next = reference_.next();
  next = StreamedReference{};
  const auto is_given = [count](const std::vector<double> & values) { return values.size() == count; };
  const auto is_right = [&](const std::vector<double> & values) { return values.empty() || is_given(values); };
  if (count == 0 || !is_given(message.position) || !is_right(message.velocity) || !is_right(message.effort)) {
    return refuse("reference", "it needs names, a position for each, and velocities and efforts for each or none");
  }
  for (std::size_t k = 0; k < count; ++k) {
    const int joint = joint_of(message.name[k]);
    if (joint < 0 || next.joints[static_cast<std::size_t>(joint)]) {
      return refuse("reference", "joint '" + message.name[k] + "' is unknown or repeated");
    }
    const std::size_t i = static_cast<std::size_t>(joint);
    next.joints[i] = 1;
    next.q[i] = message.position[k];
    next.qd[i] = number_at(message.velocity, k);
    next.effort[i] = number_at(message.effort, k);
  }
  const double now = seconds(get_node()->now());
  is_estimated_ = message.velocity.empty();
  if (is_estimated_ && all_finite(next.q)) {
    const double stamp = stamped(message.header.stamp);
    core_velocity_update(
      &velocity_, arm_core_settings(known_.get()), stamp > 0.0 ? stamp : now, next.joints.data(), next.q.data(), next.qd.data());
  }
  last_time_ = now;
  reference_.hand_over();
}

void Controller::on_trajectory(const JointTrajectory & message)
{
  const std::lock_guard<std::mutex> lock(preparation_);
  const std::size_t points = message.points.size();
  if (points == 0) {
    return request_hold();
  }
  if (!is_active_ || is_chained_) {
    return refuse("trajectory", is_active_ ? "the chained controller sets the reference" : "the controller is not active");
  }
  if (points > MOST_POINTS) {
    return refuse("trajectory", "it has more than " + std::to_string(MOST_POINTS) + " points");
  }
  if (message.joint_names.empty()) {
    return refuse("trajectory", "it names no joint");
  }
  std::vector<std::int64_t> joints;
  for (const std::string & name : message.joint_names) {
    const int joint = joint_of(name);
    if (joint < 0 || std::find(joints.begin(), joints.end(), joint) != joints.end()) {
      return refuse("trajectory", "joint '" + name + "' is unknown or repeated");
    }
    joints.push_back(joint);
  }
  Points all;
  if (!read_points(message, all)) {
    return refuse("trajectory", "every point needs a position for each joint, and velocities, accelerations and efforts "
                                "if the others have them");
  }
  // A start is a time by the clock of the nodes; the loop may have another clock. A stamp of 0 is now.
  const double stamp = stamped(message.header.stamp);
  const double start = stamp == 0.0 ? NONE : time_ + (stamp - seconds(get_node()->now()));
  std::array<char, PROBLEM> text{};
  CoreRefusal why{};
  CoreTrajectory * trajectory = core_trajectory_create(
    arm_core_settings(known_.get()), static_cast<std::int64_t>(points), static_cast<std::int64_t>(joints.size()),
    joints.data(), all.times.data(), all.positions.data(), data_of(all.velocities), data_of(all.accelerations),
    data_of(all.efforts), start, time_, &why);
  if (!trajectory) {
    arm_refusal_text(&why, text.data(), text.size());
    return refuse("trajectory", text.data());
  }
  core_trajectory_destroy(trajectory_.exchange(trajectory));
}

void Controller::on_pose(const PoseStamped & message)
{
  ToolNumbers numbers{};
  if (!read_pose(message.pose.position, message.pose.orientation, numbers)) {
    return refuse("target_pose", "its orientation must be a quaternion of length 1");
  }
  on_tool(CORE_POSE, "target_pose", message.header, numbers);
}

void Controller::on_tool(int what, const char * name, const Header & header, const ToolNumbers & numbers)
{
  const std::lock_guard<std::mutex> lock(preparation_);
  ToolMessage message{-1, stamped(header.stamp), numbers};
  if (!(message.stamp > 0.0 && std::abs(seconds(get_node()->now()) - message.stamp) <= STRANGE)) {
    message.stamp = NONE;
  }
  std::string problem;
  if (!all_finite(numbers)) {
    return refuse(name, "it has numbers that are not finite");
  }
  if (!find_frame(what, header.frame_id, message, problem)) {
    return refuse(name, problem);
  }
  Newest<ToolMessage> & stream = tool_[static_cast<std::size_t>(what)];
  stream.next() = message;
  stream.hand_over();
}

/// The frame of a message: a link of the arm, which the update thread looks up, or one that tf has now.
bool Controller::find_frame(int what, const std::string & name, ToolMessage & message, std::string & problem) const
{
  const std::string prefix = get_node()->get_parameter("prefix").as_string(), root = prefix + arm_links[0];
  if (name.empty() || name == root) {
    return true;
  }
  const auto link = std::find_if(
    arm_frames, arm_frames + ARM_LINKS, [&](const char * known) { return name == prefix + known; });
  if (link != arm_frames + ARM_LINKS) {
    message.frame = static_cast<int>(link - arm_frames);
    return true;
  }
  geometry_msgs::msg::Transform told;
  ToolNumbers place{};
  if (!frames_.find(root, name, seconds(get_node()->now()), told, problem)) {
    return false;
  }
  if (!read_pose(told.translation, told.rotation, place)) {
    problem = "the transform of the frame '" + name + "' from tf is no pose";
    return false;
  }
  std::array<double, 16> pose{};
  for (std::size_t i = 0; i < 3; ++i) {
    std::copy(place.begin() + 3 + 3 * i, place.begin() + 6 + 3 * i, pose.begin() + 4 * i);
    pose[4 * i + 3] = place[i];
  }
  arm_to_root(what, pose.data(), message.numbers.data());
  return true;
}

}  // namespace PACKAGE_NAMESPACE
