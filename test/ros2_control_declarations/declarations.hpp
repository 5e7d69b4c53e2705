// Copyright 2026 robodyn_ros maintainers
// SPDX-License-Identifier: Apache-2.0

// Small declarations of what an exported controller uses of rclcpp, ros2_control, realtime_tools and messages, for tests
// on machines without them. They are no implementation: nothing runs here but what a test calls.

#ifndef DECLARATIONS_HPP
#define DECLARATIONS_HPP

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

namespace builtin_interfaces::msg
{
struct Time
{
  std::int32_t sec = 0;
  std::uint32_t nanosec = 0;
};
using Duration = Time;
}  // namespace builtin_interfaces::msg

namespace std_msgs::msg
{
struct Header
{
  builtin_interfaces::msg::Time stamp;
  std::string frame_id;
};
}  // namespace std_msgs::msg

namespace std_msgs::msg
{
struct Float64
{
  double data = 0.0;
};
}  // namespace std_msgs::msg

namespace sensor_msgs::msg
{
struct JointState
{
  std_msgs::msg::Header header;
  std::vector<std::string> name;
  std::vector<double> position, velocity, effort;
};
}  // namespace sensor_msgs::msg

namespace geometry_msgs::msg
{
struct Vector3
{
  double x = 0.0, y = 0.0, z = 0.0;
};
using Point = Vector3;
struct Quaternion
{
  double x = 0.0, y = 0.0, z = 0.0, w = 1.0;
};
struct Pose
{
  Point position;
  Quaternion orientation;
};
struct Twist
{
  Vector3 linear, angular;
};
struct Wrench
{
  Vector3 force, torque;
};
struct Transform
{
  Vector3 translation;
  Quaternion rotation;
};
struct TransformStamped
{
  std_msgs::msg::Header header;
  Transform transform;
};
struct PoseStamped
{
  std_msgs::msg::Header header;
  Pose pose;
};
struct TwistStamped
{
  std_msgs::msg::Header header;
  Twist twist;
};
struct WrenchStamped
{
  std_msgs::msg::Header header;
  Wrench wrench;
};
}  // namespace geometry_msgs::msg

namespace trajectory_msgs::msg
{
struct JointTrajectoryPoint
{
  std::vector<double> positions, velocities, accelerations, effort;
  builtin_interfaces::msg::Duration time_from_start;
};
struct JointTrajectory
{
  std_msgs::msg::Header header;
  std::vector<std::string> joint_names;
  std::vector<JointTrajectoryPoint> points;
};
}  // namespace trajectory_msgs::msg

namespace std_srvs::srv
{
struct Trigger
{
  struct Request
  {
  };
  struct Response
  {
    bool success = false;
    std::string message;
  };
};
}  // namespace std_srvs::srv

namespace rcl_interfaces::msg
{
struct SetParametersResult
{
  bool successful = false;
  std::string reason;
};
}  // namespace rcl_interfaces::msg

namespace rclcpp
{
class Duration
{
public:
  explicit Duration(std::int64_t nanoseconds = 0) : nanoseconds_(nanoseconds) {}
  std::int64_t nanoseconds() const { return nanoseconds_; }

private:
  std::int64_t nanoseconds_;
};

class Time
{
public:
  explicit Time(std::int64_t nanoseconds = 0) : nanoseconds_(nanoseconds) {}
  std::int64_t nanoseconds() const { return nanoseconds_; }
  operator builtin_interfaces::msg::Time() const
  {
    return {static_cast<std::int32_t>(nanoseconds_ / 1000000000), static_cast<std::uint32_t>(nanoseconds_ % 1000000000)};
  }

private:
  std::int64_t nanoseconds_;
};

class Parameter
{
public:
  using Value =
    std::variant<double, std::int64_t, bool, std::string, std::vector<double>, std::vector<std::string>>;
  Parameter(std::string name, Value value) : name_(std::move(name)), value_(std::move(value)) {}
  const std::string & get_name() const { return name_; }
  double as_double() const { return std::get<double>(value_); }
  std::int64_t as_int() const { return std::get<std::int64_t>(value_); }
  bool as_bool() const { return std::get<bool>(value_); }
  std::string as_string() const { return std::get<std::string>(value_); }
  std::vector<double> as_double_array() const { return std::get<std::vector<double>>(value_); }
  std::vector<std::string> as_string_array() const { return std::get<std::vector<std::string>>(value_); }

private:
  std::string name_;
  Value value_;
};

struct Logger
{
};
struct Clock
{
};

struct QoS
{
  QoS keep_last(std::size_t) const { return *this; }
};
using SensorDataQoS = QoS;
using SystemDefaultsQoS = QoS;

template <class Message>
struct Publisher
{
  using SharedPtr = std::shared_ptr<Publisher>;
  static inline std::size_t subscriptions = 1;
  std::size_t get_subscription_count() const { return subscriptions; }
};

template <class Message>
struct Subscription
{
  using SharedPtr = std::shared_ptr<Subscription>;
  std::function<void(std::shared_ptr<const Message>)> callback;
  std::size_t publishers = 1;
  std::size_t get_publisher_count() const { return publishers; }
};

template <class Kind>
struct Service
{
  using SharedPtr = std::shared_ptr<Service>;
  std::function<void(std::shared_ptr<typename Kind::Request>, std::shared_ptr<typename Kind::Response>)> callback;
};

struct TimerBase
{
  using SharedPtr = std::shared_ptr<TimerBase>;
  std::function<void()> callback;
};

namespace node_interfaces
{
struct OnSetParametersCallbackHandle
{
  using SharedPtr = std::shared_ptr<OnSetParametersCallbackHandle>;
  std::function<rcl_interfaces::msg::SetParametersResult(const std::vector<Parameter> &)> callback;
};
struct PostSetParametersCallbackHandle
{
  using SharedPtr = std::shared_ptr<PostSetParametersCallbackHandle>;
  std::function<void(const std::vector<Parameter> &)> callback;
};
}  // namespace node_interfaces
}  // namespace rclcpp

#define RCLCPP_ERROR(logger, ...) ((void)(logger), std::fprintf(stderr, __VA_ARGS__), std::fputc('\n', stderr))
#define RCLCPP_WARN(logger, ...) RCLCPP_ERROR(logger, __VA_ARGS__)
#define RCLCPP_WARN_THROTTLE(logger, clock, pause, ...) \
  ((void)(logger), (void)(clock), (void)(pause), std::fprintf(stderr, __VA_ARGS__), std::fputc('\n', stderr))

namespace rclcpp_lifecycle
{
struct State
{
};

/// A node whose parameters, topics and time a test sets.
class LifecycleNode
{
public:
  rclcpp::Parameter get_parameter(const std::string & name) const
  {
    const auto found = parameters.find(name);
    if (found == parameters.end()) {
      throw std::runtime_error(name + " is not declared");
    }
    return rclcpp::Parameter(name, found->second);
  }
  rclcpp::Logger get_logger() const { return {}; }
  std::shared_ptr<rclcpp::Clock> get_clock() const { return std::make_shared<rclcpp::Clock>(); }
  rclcpp::Time now() const { return time; }
  const char * get_name() const { return "arm_controller"; }

  template <class Message>
  std::shared_ptr<rclcpp::Publisher<Message>> create_publisher(const std::string &, rclcpp::QoS)
  {
    return std::make_shared<rclcpp::Publisher<Message>>();
  }
  template <class Message, class Callback>
  std::shared_ptr<rclcpp::Subscription<Message>> create_subscription(const std::string &, rclcpp::QoS, Callback callback)
  {
    auto made = std::make_shared<rclcpp::Subscription<Message>>();
    made->callback = callback;
    std::get<std::shared_ptr<rclcpp::Subscription<Message>>>(subscriptions) = made;
    return made;
  }
  template <class Kind, class Callback>
  std::shared_ptr<rclcpp::Service<Kind>> create_service(const std::string & name, Callback callback)
  {
    auto made = std::make_shared<rclcpp::Service<Kind>>();
    made->callback = callback;
    services[name] = made;
    return made;
  }
  template <class Period, class Callback>
  rclcpp::TimerBase::SharedPtr create_wall_timer(Period, Callback callback)
  {
    timer = std::make_shared<rclcpp::TimerBase>();
    timer->callback = callback;
    return timer;
  }
  template <class Callback>
  rclcpp::node_interfaces::OnSetParametersCallbackHandle::SharedPtr add_on_set_parameters_callback(Callback callback)
  {
    on_set = std::make_shared<rclcpp::node_interfaces::OnSetParametersCallbackHandle>();
    on_set->callback = callback;
    return on_set;
  }
  template <class Callback>
  rclcpp::node_interfaces::PostSetParametersCallbackHandle::SharedPtr add_post_set_parameters_callback(Callback callback)
  {
    post_set = std::make_shared<rclcpp::node_interfaces::PostSetParametersCallbackHandle>();
    post_set->callback = callback;
    return post_set;
  }

  /// Set parameters, as the node would; false if they are refused.
  bool set(const std::vector<rclcpp::Parameter> & changes, const std::vector<rclcpp::Parameter::Value> & values)
  {
    if (!on_set->callback(changes).successful) {
      return false;
    }
    for (std::size_t k = 0; k < changes.size(); ++k) {
      parameters[changes[k].get_name()] = values[k];
    }
    post_set->callback(changes);
    return true;
  }

  std::map<std::string, rclcpp::Parameter::Value> parameters;
  rclcpp::Time time;
  template <class Message>
  rclcpp::Subscription<Message> & subscription()
  {
    return *std::get<std::shared_ptr<rclcpp::Subscription<Message>>>(subscriptions);
  }

  std::tuple<
    std::shared_ptr<rclcpp::Subscription<sensor_msgs::msg::JointState>>,
    std::shared_ptr<rclcpp::Subscription<trajectory_msgs::msg::JointTrajectory>>,
    std::shared_ptr<rclcpp::Subscription<std_msgs::msg::Float64>>,
    std::shared_ptr<rclcpp::Subscription<geometry_msgs::msg::PoseStamped>>,
    std::shared_ptr<rclcpp::Subscription<geometry_msgs::msg::TwistStamped>>,
    std::shared_ptr<rclcpp::Subscription<geometry_msgs::msg::WrenchStamped>>>
    subscriptions;
  std::map<std::string, std::shared_ptr<rclcpp::Service<std_srvs::srv::Trigger>>> services;
  rclcpp::TimerBase::SharedPtr timer;
  rclcpp::node_interfaces::OnSetParametersCallbackHandle::SharedPtr on_set;
  rclcpp::node_interfaces::PostSetParametersCallbackHandle::SharedPtr post_set;
};
}  // namespace rclcpp_lifecycle

namespace hardware_interface
{
struct InterfaceInfo
{
  std::string name, data_type;
};

struct InterfaceDescription
{
  InterfaceDescription(const std::string & prefix, const InterfaceInfo & info) : name(prefix + "/" + info.name) {}
  std::string name;
};

class CommandInterface
{
public:
  using SharedPtr = std::shared_ptr<CommandInterface>;
  explicit CommandInterface(const InterfaceDescription & description) : name_(description.name) {}
  CommandInterface(const CommandInterface &) = delete;
  const std::string & get_name() const { return name_; }
  std::optional<double> get_optional() const { return value_; }
  [[nodiscard]] bool set_value(double value)
  {
    value_ = value;
    return true;
  }

private:
  std::string name_;
  double value_ = std::numeric_limits<double>::quiet_NaN();
};

class LoanedInterface
{
public:
  LoanedInterface(std::string name, double * value) : name_(std::move(name)), value_(value) {}
  const std::string & get_name() const { return name_; }
  std::optional<double> get_optional() const { return *value_; }
  [[nodiscard]] bool set_value(double value)
  {
    *value_ = refuses ? *value_ : value;
    return !refuses;
  }
  static inline bool refuses = false;  // as while somebody else has the interface

private:
  std::string name_;
  double * value_;
};
}  // namespace hardware_interface

namespace controller_interface
{
enum class CallbackReturn { SUCCESS, FAILURE, ERROR };
enum class return_type { OK, ERROR };
enum class interface_configuration_type { ALL, INDIVIDUAL, NONE };

struct InterfaceConfiguration
{
  interface_configuration_type type = interface_configuration_type::NONE;
  std::vector<std::string> names;
};

class ChainableControllerInterface
{
public:
  virtual ~ChainableControllerInterface() = default;
  virtual CallbackReturn on_init() = 0;
  virtual InterfaceConfiguration command_interface_configuration() const = 0;
  virtual InterfaceConfiguration state_interface_configuration() const = 0;
  virtual CallbackReturn on_configure(const rclcpp_lifecycle::State &) = 0;
  virtual CallbackReturn on_cleanup(const rclcpp_lifecycle::State &) { return CallbackReturn::SUCCESS; }
  virtual CallbackReturn on_activate(const rclcpp_lifecycle::State &) = 0;
  virtual CallbackReturn on_deactivate(const rclcpp_lifecycle::State &) = 0;
  virtual return_type update_and_write_commands(const rclcpp::Time &, const rclcpp::Duration &) = 0;

  std::shared_ptr<rclcpp_lifecycle::LifecycleNode> get_node() const { return node_; }
  unsigned get_update_rate() const { return update_rate; }
  bool is_in_chained_mode() const { return is_chained_; }

  // What a test does in place of the controller_manager
  std::vector<hardware_interface::CommandInterface::SharedPtr> export_reference_interfaces()
  {
    return on_export_reference_interfaces_list();
  }
  bool set_chained_mode(bool chained)
  {
    const bool done = on_set_chained_mode(chained);
    is_chained_ = chained;
    return done;
  }
  return_type update(const rclcpp::Time & time, const rclcpp::Duration & period)
  {
    if (!is_chained_) {
      const return_type done = update_reference_from_subscribers(time, period);
      if (done != return_type::OK) {
        return done;
      }
    }
    return update_and_write_commands(time, period);
  }
  void lend(std::vector<hardware_interface::LoanedInterface> commands, std::vector<hardware_interface::LoanedInterface> states)
  {
    command_interfaces_ = std::move(commands);
    state_interfaces_ = std::move(states);
  }
  unsigned update_rate = 1000;

protected:
  virtual std::vector<hardware_interface::CommandInterface::SharedPtr> on_export_reference_interfaces_list() = 0;
  virtual bool on_set_chained_mode(bool) = 0;
  virtual return_type update_reference_from_subscribers(const rclcpp::Time &, const rclcpp::Duration &) = 0;

  std::vector<hardware_interface::LoanedInterface> command_interfaces_, state_interfaces_;

private:
  std::shared_ptr<rclcpp_lifecycle::LifecycleNode> node_ = std::make_shared<rclcpp_lifecycle::LifecycleNode>();
  bool is_chained_ = false;
};
}  // namespace controller_interface

namespace realtime_tools
{
template <class Message>
class RealtimePublisher
{
public:
  explicit RealtimePublisher(std::shared_ptr<rclcpp::Publisher<Message>>) {}
  static inline long published = 0;
  static inline const Message * latest = nullptr;
  bool try_publish(const Message & message)
  {
    msg_ = message;
    latest = &msg_;
    ++published;
    return true;
  }
  Message msg_;
};
}  // namespace realtime_tools

#define PLUGINLIB_EXPORT_CLASS(kind, base) \
  extern "C" __attribute__((visibility("default"))) base * create_controller(); \
  base * create_controller() { return new kind(); }

#endif
