// Copyright 2026 robodyn_ros maintainers
// SPDX-License-Identifier: Apache-2.0

// A controller of ros2_control for one arm: it connects the control loop of arm_loop.h to interfaces and topics.

#ifndef CONTROLLER_HPP
#define CONTROLLER_HPP

#include <array>
#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "arm_loop.h"
#include "controller_interface/chainable_controller_interface.hpp"
#include "exchange.hpp"
#include "frames.hpp"
#include "geometry_msgs/msg/pose_stamped.hpp"
#include "geometry_msgs/msg/twist_stamped.hpp"
#include "geometry_msgs/msg/wrench_stamped.hpp"
#include "package.hpp"
#include "rclcpp/rclcpp.hpp"
#include "realtime_tools/realtime_publisher.hpp"
#include "sensor_msgs/msg/joint_state.hpp"
#include "std_msgs/msg/float64.hpp"
#include "std_msgs/msg/header.hpp"
#include "std_srvs/srv/trigger.hpp"
#include "trajectory_msgs/msg/joint_trajectory.hpp"

namespace PACKAGE_NAMESPACE
{

using CallbackReturn = controller_interface::CallbackReturn;
using JointState = sensor_msgs::msg::JointState;
using Header = std_msgs::msg::Header;
using Float64 = std_msgs::msg::Float64;
using JointTrajectory = trajectory_msgs::msg::JointTrajectory;
using PoseStamped = geometry_msgs::msg::PoseStamped;
using TwistStamped = geometry_msgs::msg::TwistStamped;
using WrenchStamped = geometry_msgs::msg::WrenchStamped;
using Trigger = std_srvs::srv::Trigger;

constexpr std::size_t JOINTS = CORE_JOINTS;
constexpr std::size_t PROBLEM = 400;  // longest message
constexpr double NONE = std::numeric_limits<double>::quiet_NaN();
constexpr int PAUSE = 1000;  // between two warnings of a kind [ms]
constexpr double STRANGE = 1.0;  // difference of a stamp from the node's time beyond which it is of another clock [s]

inline double seconds(const rclcpp::Time & time) { return static_cast<double>(time.nanoseconds()) / 1e9; }

/// A reference of some joints, JOINTS numbers each.
struct StreamedReference
{
  std::array<std::int64_t, JOINTS> joints{};
  std::array<double, JOINTS> q{}, qd{}, qdd{}, effort{};
};

/// A target of the tool in the form of arm_tool: a pose, or a twist or a wrench in the first six numbers.
using ToolNumbers = std::array<double, 12>;

struct ToolMessage
{
  int frame = -1;  // index in arm_frames of the link in whose axes it is given; -1 for the root link
  double stamp = 0.0;  // [s]; NaN for the time of arrival
  ToolNumbers numbers{};
};

struct Freed
{
  void operator()(Arm * arm) const { arm_destroy(arm); }
  void operator()(ArmSettings * settings) const { arm_settings_destroy(settings); }
};

class Controller : public controller_interface::ChainableControllerInterface
{
public:
  Controller() = default;
  ~Controller() override;

  CallbackReturn on_init() override;
  controller_interface::InterfaceConfiguration command_interface_configuration() const override;
  controller_interface::InterfaceConfiguration state_interface_configuration() const override;
  CallbackReturn on_configure(const rclcpp_lifecycle::State & previous) override;
  CallbackReturn on_cleanup(const rclcpp_lifecycle::State & previous) override;
  CallbackReturn on_activate(const rclcpp_lifecycle::State & previous) override;
  CallbackReturn on_deactivate(const rclcpp_lifecycle::State & previous) override;

  controller_interface::return_type update_and_write_commands(
    const rclcpp::Time & time, const rclcpp::Duration & period) override;

protected:
  std::vector<hardware_interface::CommandInterface::SharedPtr> on_export_reference_interfaces_list() override;
  bool on_set_chained_mode(bool chained_mode) override;
  controller_interface::return_type update_reference_from_subscribers(
    const rclcpp::Time & time, const rclcpp::Duration & period) override;

private:
  using Settings = std::unique_ptr<ArmSettings, Freed>;
  using Publisher = realtime_tools::RealtimePublisher<JointState>;
  using WrenchPublisher = realtime_tools::RealtimePublisher<WrenchStamped>;

  /// Those of some kinds, of each joint.
  controller_interface::InterfaceConfiguration interfaces(const std::vector<const char *> & kinds) const;

  // Other threads than the update thread
  bool read_parameters(const std::vector<rclcpp::Parameter> & changes, Parameters & given, std::string & problem) const;
  Settings settings_of(const std::vector<rclcpp::Parameter> & changes, std::string & problem) const;
  rcl_interfaces::msg::SetParametersResult try_parameters(const std::vector<rclcpp::Parameter> & changes);
  void make_publishers();
  void hand_over(Settings settings);
  void free_used();
  void listen();
  void stop_listening();
  void on_reference(const JointState & message);
  void request_hold();
  void on_trajectory(const JointTrajectory & message);
  void on_pose(const PoseStamped & message);
  void on_tool(int what, const char * name, const Header & header, const ToolNumbers & numbers);
  bool find_frame(int what, const std::string & name, ToolMessage & message, std::string & problem) const;
  void log_reports();
  void watch();
  int joint_of(const std::string & name) const;
  void refuse(const char * what, const std::string & problem);

  // The update thread
  double passed(const rclcpp::Time & time, const rclcpp::Duration & period);
  void adopt_settings();
  void forget_streams();
  void forget_references();
  void track(double t, const StreamedReference & reference);
  void note(const CoreRefusal & refusal);
  void note(const CoreRefusal & refusal, Newest<CoreRefusal> & to);
  bool read_states();
  void update_chain(double t);
  double state_timeout() const;
  bool write(std::size_t place, double value);
  bool write_commands(double t, int what);
  void publish(const rclcpp::Time & time);

  std::shared_ptr<parameters::ParamListener> listener_;
  std::vector<std::string> joints_;
  std::vector<hardware_interface::CommandInterface::SharedPtr> references_;  // written by the chained controller
  bool has_velocity_ = true, mit_ = false;
  double period_ = 0.0;

  std::unique_ptr<Arm, Freed> arm_;
  Core * core_ = nullptr;
  Settings known_;         // used by other threads than the update thread
  std::mutex preparation_;  // of other threads than the update thread

  std::atomic<ArmSettings *> settings_{nullptr};
  std::atomic<CoreTrajectory *> trajectory_{nullptr};
  ReturnQueue<ArmSettings, 16> used_settings_;
  ReturnQueue<CoreTrajectory, 32> used_trajectories_;
  Newest<StreamedReference> reference_;
  std::array<Newest<ToolMessage>, 3> tool_;  // poses, twists, wrenches
  Newest<CoreRefusal> refusal_, aborted_;
  Newest<ArmReport> fault_;
  std::atomic<bool> hold_{false}, tare_{false}, conflict_{false}, stand_still_{false}, is_active_{false}, is_unreachable_{false};
  std::atomic<bool> is_chained_{false};  // as is_in_chained_mode, for other threads
  std::atomic<double> speed_{1.0};  // of trajectories, as requested
  std::atomic<double> time_{0.0};  // of the latest update
  std::atomic<bool> went_blind_{false};  // no usable state has come since the activation, and it is not logged yet
  std::atomic<double> unwritten_{0.0};  // time for which commands could not be written [s]; 0 if they were
  std::atomic<double> gap_{0.0};  // between two updates, if it was too long; 0 if it was not
  std::array<std::atomic<double>, JOINTS> position_{};
  std::atomic<bool> has_position_{false};

  // Of the update thread
  ArmReport report_{};
  std::array<double, JOINTS> q_{}, qd_{};
  std::array<std::size_t, JOINTS> position_place_{}, velocity_place_{}, effort_place_{};
  std::array<std::array<std::size_t, JOINTS>, 4> mit_place_{};
  CoreVelocity chained_velocity_{};
  bool has_time_ = false, has_written_ = true;
  bool is_blind_ = false;  // no usable state has come since the controller was activated, for state_timeout
  double written_ = 0.0;  // time at which all commands were written last [s]
  std::int64_t nanoseconds_ = 0;  // time of the loop
  long long faults_ = 0;

  // Streams
  CoreVelocity velocity_{};
  double last_time_ = 0.0;
  Frames frames_;
  bool is_estimated_ = false;

  rclcpp::Subscription<JointState>::SharedPtr reference_subscription_;
  std::vector<std::shared_ptr<void>> listeners_;  // the other subscriptions and the services
  rclcpp::TimerBase::SharedPtr timer_;
  rclcpp::node_interfaces::OnSetParametersCallbackHandle::SharedPtr on_set_;
  rclcpp::node_interfaces::PostSetParametersCallbackHandle::SharedPtr post_set_;
  std::vector<std::unique_ptr<Publisher>> publishers_;  // of the terms, the tracking error, the external efforts
  std::vector<JointState> messages_;
  std::vector<rclcpp::Publisher<JointState>::SharedPtr> topics_;
  std::array<std::atomic<bool>, ARM_TERMS + 2> has_subscribers_{};  // each message wakes a publishing thread
  std::unique_ptr<WrenchPublisher> wrench_publisher_;
  WrenchStamped wrench_message_;
  rclcpp::Publisher<WrenchStamped>::SharedPtr wrench_topic_;
  std::atomic<bool> is_wrench_wanted_{false};
};

}  // namespace PACKAGE_NAMESPACE

#endif
