// Copyright 2026 robodyn_ros maintainers
// SPDX-License-Identifier: Apache-2.0

// Life cycle, parameters, and the update thread; topics and services are in topics.cpp.

#include "controller.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iterator>
#include <utility>

#include "pluginlib/class_list_macros.hpp"

namespace PACKAGE_NAMESPACE
{

namespace
{

constexpr double MOVING = 0.05;  // speed of a joint above which a deactivation is logged [rad/s] or [m/s]
constexpr auto WATCH_PERIOD = std::chrono::milliseconds(50);

const std::array<const char *, 4> MIT_INTERFACES = {"position", "velocity", "stiffness", "damping"};
const std::array<const char *, 4> REFERENCES = {"position", "velocity", "acceleration", "effort"};

// Interfaces are read and published differently in different distributions of ROS 2; the newer functions are preferred.

template <class I>
auto value_of(const I & interface, int) -> decltype(interface.get_optional().value_or(NONE))
{
  return interface.get_optional().value_or(NONE);
}

template <class I>
double value_of(const I & interface, long)
{
  return interface.get_value();
}

/// False if the interface did not take the value.
template <class I>
auto set_value(I & interface, double value, int) -> decltype(static_cast<bool>(interface.set_value(value)))
{
  return interface.set_value(value);
}

template <class I>
bool set_value(I & interface, double value, long)
{
  interface.set_value(value);
  return true;
}

template <class P, class M>
auto publish_if_free(P & publisher, M & message, int) -> decltype(publisher.try_publish(message), void())
{
  (void)publisher.try_publish(message);
}

template <class P, class M>
void publish_if_free(P & publisher, M & message, long)
{
  if (publisher.trylock()) {
    publisher.msg_ = message;
    publisher.unlockAndPublish();
  }
}

// The member is deprecated if there is a newer function to publish, but there is no other access to its memory.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

/// Allocate the memory for a publisher's messages in advance, so that the first message allocates nothing.
template <class P, class M>
auto prepare(P & publisher, M & message, int) -> decltype(publisher.msg_ = message, void())
{
  publisher.msg_ = message;
}

#pragma GCC diagnostic pop

template <class P, class M>
void prepare(P & publisher, M & message, long)
{
  (void)publisher.try_publish(message);  // with values that are NaN
}

}  // namespace

Controller::~Controller()
{
  arm_settings_destroy(settings_.exchange(nullptr));
  core_trajectory_destroy(trajectory_.exchange(nullptr));
  free_used();
}

// --- life cycle

CallbackReturn Controller::on_init()
{
  try {
    listener_ = std::make_shared<parameters::ParamListener>(get_node());
  } catch (const std::exception & problem) {
    RCLCPP_ERROR(get_node()->get_logger(), "%s", problem.what());
    return CallbackReturn::ERROR;
  }
  const std::string prefix = get_node()->get_parameter("prefix").as_string();
  joints_.clear();
  for (std::size_t i = 0; i < JOINTS; ++i) {
    joints_.push_back(prefix + arm_joints[i]);
  }
  const std::vector<double> mit_limits = get_node()->get_parameter("mit_limits").as_double_array();
  mit_ = std::any_of(mit_limits.begin(), mit_limits.end(), [](double limit) { return limit > 0; });
  has_velocity_ = get_node()->get_parameter("missing_velocity").as_string() == "refuse";
  return CallbackReturn::SUCCESS;
}

controller_interface::InterfaceConfiguration Controller::interfaces(const std::vector<const char *> & kinds) const
{
  controller_interface::InterfaceConfiguration wanted;
  wanted.type = controller_interface::interface_configuration_type::INDIVIDUAL;
  for (const std::string & joint : joints_) {
    for (const char * kind : kinds) {
      wanted.names.push_back(joint + "/" + kind);
    }
  }
  return wanted;
}

controller_interface::InterfaceConfiguration Controller::command_interface_configuration() const
{
  std::vector<const char *> kinds = {"effort"};
  kinds.insert(kinds.end(), MIT_INTERFACES.begin(), mit_ ? MIT_INTERFACES.end() : MIT_INTERFACES.begin());
  return interfaces(kinds);
}

controller_interface::InterfaceConfiguration Controller::state_interface_configuration() const
{
  return has_velocity_ ? interfaces({"position", "velocity"}) : interfaces({"position"});
}

/// The publishers of the results of each update.
void Controller::make_publishers()
{
  auto node = get_node();
  publishers_.clear();
  topics_.clear();
  messages_.clear();
  for (int k = 0; k <= ARM_TERMS + ARM_OBSERVES; ++k) {
    const std::string topic = k < ARM_TERMS    ? std::string("~/efforts/") + arm_terms[k]
                              : k == ARM_TERMS ? "~/tracking_error"
                                               : "~/external_efforts";
    JointState message;
    message.name = joints_;
    (k == ARM_TERMS ? message.position : message.effort).assign(JOINTS, NONE);
    messages_.push_back(message);
    topics_.push_back(node->create_publisher<JointState>(topic, rclcpp::SystemDefaultsQoS()));
    publishers_.push_back(std::make_unique<Publisher>(topics_.back()));
    prepare(*publishers_.back(), messages_.back(), 0);
  }
  if (ARM_FEELS_WRENCH) {
    wrench_message_.header.frame_id = node->get_parameter("prefix").as_string() + arm_links[2];
    wrench_topic_ = node->create_publisher<WrenchStamped>("~/external_wrench", rclcpp::SystemDefaultsQoS());
    wrench_publisher_ = std::make_unique<WrenchPublisher>(wrench_topic_);
    prepare(*wrench_publisher_, wrench_message_, 0);
  }
}

/// Whether parameters can be changed; if not, the reason.
rcl_interfaces::msg::SetParametersResult Controller::try_parameters(const std::vector<rclcpp::Parameter> & changes)
{
  const std::lock_guard<std::mutex> preparing(preparation_);
  rcl_interfaces::msg::SetParametersResult result;
  std::array<char, PROBLEM> why{};
  std::array<double, JOINTS> where{};
  std::copy(position_.begin(), position_.end(), where.begin());
  const Settings tried = settings_of(changes, result.reason);
  result.successful = tried != nullptr;
  if (tried && has_position_ && !arm_settings_hold(tried.get(), known_.get(), where.data(), why.data(), why.size())) {
    result.successful = false;
    result.reason = why.data();
  }
  return result;
}

CallbackReturn Controller::on_configure(const rclcpp_lifecycle::State &)
{
  auto node = get_node();
  period_ = get_update_rate() > 0 ? 1.0 / static_cast<double>(get_update_rate()) : 0.0;
  std::string problem;
  Settings first = settings_of({}, problem), known = settings_of({}, problem);
  std::array<char, PROBLEM> text{};
  if (first && known && !arm_settings_hold(first.get(), nullptr, nullptr, text.data(), text.size())) {
    problem = text.data();
    first = nullptr;
  }
  if (!first || !known) {
    RCLCPP_ERROR(node->get_logger(), "%s", problem.c_str());
    return CallbackReturn::FAILURE;
  }
  known_ = std::move(known);
  arm_settings_destroy(settings_.exchange(nullptr));
  core_trajectory_destroy(trajectory_.exchange(nullptr));
  arm_.reset(arm_create());
  if (!arm_) {
    return CallbackReturn::ERROR;
  }
  core_ = arm_core(arm_.get());
  arm_apply(arm_.get(), first.release());
  speed_ = 1.0;
  has_position_ = false;
  core_velocity_reset(&velocity_);

  make_publishers();
  listen();
  timer_ = node->create_wall_timer(WATCH_PERIOD, [this]() { watch(); });
  on_set_ = node->add_on_set_parameters_callback(
    [this](const std::vector<rclcpp::Parameter> & changes) { return try_parameters(changes); });
  post_set_ = node->add_post_set_parameters_callback([this](const std::vector<rclcpp::Parameter> &) {
    const std::lock_guard<std::mutex> preparing(preparation_);
    std::string why;
    Settings next = settings_of({}, why), again = settings_of({}, why);
    if (next && again) {
      known_ = std::move(again);
      hand_over(std::move(next));
    }
  });
  return CallbackReturn::SUCCESS;
}

CallbackReturn Controller::on_cleanup(const rclcpp_lifecycle::State &)
{
  const std::lock_guard<std::mutex> lock(preparation_);
  timer_.reset();
  stop_listening();
  post_set_.reset();
  on_set_.reset();
  publishers_.clear();
  topics_.clear();
  wrench_publisher_.reset();
  wrench_topic_.reset();
  return CallbackReturn::SUCCESS;
}

CallbackReturn Controller::on_activate(const rclcpp_lifecycle::State &)
{
  const auto find = [](auto & interfaces, const std::string & name, std::size_t & place) {
    const auto found = std::find_if(interfaces.begin(), interfaces.end(), [&name](const auto & item) {
      return item.get_name() == name;
    });
    place = static_cast<std::size_t>(std::distance(interfaces.begin(), found));
    return found != interfaces.end();
  };
  for (std::size_t i = 0; i < JOINTS; ++i) {
    bool is_complete = find(state_interfaces_, joints_[i] + "/position", position_place_[i]) &&
                       find(command_interfaces_, joints_[i] + "/effort", effort_place_[i]);
    is_complete = is_complete && (!has_velocity_ || find(state_interfaces_, joints_[i] + "/velocity", velocity_place_[i]));
    for (std::size_t k = 0; mit_ && k < MIT_INTERFACES.size(); ++k) {
      is_complete = is_complete && find(command_interfaces_, joints_[i] + "/" + MIT_INTERFACES[k], mit_place_[k][i]);
    }
    if (!is_complete) {
      RCLCPP_ERROR(get_node()->get_logger(), "joint %s: an interface is missing", joints_[i].c_str());
      return CallbackReturn::ERROR;
    }
  }
  arm_stop(arm_.get());
  core_trajectory_destroy(trajectory_.exchange(nullptr));
  forget_streams();
  hold_ = tare_ = stand_still_ = has_time_ = false;
  is_blind_ = false;
  has_written_ = true;
  core_velocity_reset(&chained_velocity_);
  forget_references();
  is_active_ = true;
  return CallbackReturn::SUCCESS;
}

CallbackReturn Controller::on_deactivate(const rclcpp_lifecycle::State &)
{
  // Drives keep their last command, and no single one is right for an arm in motion: a parameter selects it.
  std::array<double, JOINTS> effort{}, damping{};
  if (is_active_ && (arm_final_command(arm_.get(), effort.data(), damping.data()) || is_blind_)) {
    double speed = 0.0;
    for (std::size_t i = 0; i < JOINTS; ++i) {
      bool is_written = write(effort_place_[i], effort[i]);
      for (std::size_t k = 1; mit_ && k < MIT_INTERFACES.size(); ++k) {
        is_written = write(mit_place_[k][i], k == 3 ? damping[i] : 0.0) && is_written;
      }
      if (!is_written) {
        RCLCPP_ERROR(get_node()->get_logger(), "joint %s keeps its last command", joints_[i].c_str());
      }
      speed = std::max(speed, std::isfinite(qd_[i]) ? std::abs(qd_[i]) : 0.0);
    }
    if (speed > MOVING) {
      RCLCPP_WARN(
        get_node()->get_logger(),
        "deactivated in motion, at %.3g rad/s or m/s: the final command does not stop the arm; call ~/hold before",
        speed);
    }
  }
  is_active_ = false;
  arm_stop(arm_.get());
  is_unreachable_ = false;  // nothing is late or waits any more
  unwritten_ = 0.0;
  return CallbackReturn::SUCCESS;
}

std::vector<hardware_interface::CommandInterface::SharedPtr> Controller::on_export_reference_interfaces_list()
{
  references_.clear();
  for (const char * kind : REFERENCES) {
    for (const std::string & joint : joints_) {
      hardware_interface::InterfaceInfo info{};
      info.name = joint + "/" + kind;
      info.data_type = "double";
      references_.push_back(std::make_shared<hardware_interface::CommandInterface>(
        hardware_interface::InterfaceDescription(get_node()->get_name(), info)));
    }
  }
  forget_references();
  return references_;
}

void Controller::forget_references()
{
  for (const auto & interface : references_) {
    set_value(*interface, NONE, 0);
  }
}

bool Controller::on_set_chained_mode(bool chained_mode)
{
  is_chained_ = chained_mode;
  forget_references();
  core_velocity_reset(&chained_velocity_);
  core_trajectory_destroy(trajectory_.exchange(nullptr));
  forget_streams();
  return true;
}

// --- parameters: not in the update thread

namespace
{

/// A text as the number that stands for it. Returns the problem; "" if there is none.
std::string read_text(const ArmParameter & item, const std::string & text, double * place)
{
  const ArmChoice * choice = item.choices;
  while (choice->text && text != choice->text) {
    ++choice;
  }
  if (!choice->text) {
    const std::string fixed =
      item.fixed ? std::string(", for it is fixed in this package to '") + item.choices->text + "'" : "";
    return "cannot be '" + text + "'" + fixed;
  }
  if (item.kind == 's') {
    *place = choice->value;
  }
  return "";
}

/// A value as numbers. Returns the problem; "" if there is none. A value of another type throws.
std::string read_value(const ArmParameter & item, const rclcpp::Parameter & value, double * place)
{
  if (item.kind == 'd') {
    *place = value.as_double();
  } else if (item.kind == 'i') {
    *place = static_cast<double>(value.as_int());
  } else if (item.kind == 'b') {
    *place = value.as_bool() ? 1.0 : 0.0;
  } else if (item.kind == 's') {
    return read_text(item, value.as_string(), place);
  } else if (item.kind == 'v') {
    const std::vector<double> values = value.as_double_array();
    if (values.size() != static_cast<std::size_t>(item.count)) {
      return "must have " + std::to_string(item.count) + " numbers";
    }
    std::copy(values.begin(), values.end(), place);
  } else {
    std::string text;
    for (const std::string & part : value.as_string_array()) {
      text += (text.empty() ? "" : ", ") + part;
    }
    return read_text(item, text, place);
  }
  return "";
}

}  // namespace

bool Controller::read_parameters(
  const std::vector<rclcpp::Parameter> & changes, Parameters & given, std::string & problem) const
{
  int count = 0;
  const ArmParameter * known = arm_parameters(&count);
  double * numbers = reinterpret_cast<double *>(&given);
  for (int k = 0; k < count; ++k) {
    const ArmParameter & item = known[k];
    const auto changed = std::find_if(
      changes.begin(), changes.end(), [&item](const auto & change) { return change.get_name() == item.name; });
    const rclcpp::Parameter value = changed == changes.end() ? get_node()->get_parameter(item.name) : *changed;
    try {
      problem = read_value(item, value, numbers + item.place);
    } catch (const std::exception & cause) {
      problem = cause.what();
    }
    if (!problem.empty()) {
      problem = std::string(item.name) + ": " + problem;
      return false;
    }
  }
  return true;
}

Controller::Settings Controller::settings_of(
  const std::vector<rclcpp::Parameter> & changes, std::string & problem) const
{
  Parameters given{};
  std::array<char, PROBLEM> text{};
  Settings settings(arm_settings_create());
  if (!settings || !read_parameters(changes, given, problem)) {
    return nullptr;
  }
  if (!arm_settings_prepare(settings.get(), &given, period_, text.data(), text.size())) {
    problem = text.data();
    return nullptr;
  }
  return settings;
}

void Controller::hand_over(Settings settings) { arm_settings_destroy(settings_.exchange(settings.release())); }

void Controller::free_used()
{
  while (ArmSettings * settings = used_settings_.take()) {
    arm_settings_destroy(settings);
  }
  while (CoreTrajectory * trajectory = used_trajectories_.take()) {
    core_trajectory_destroy(trajectory);
  }
}

// --- periodic work: not in the update thread

/// Logs what the update thread has reported.
void Controller::log_reports()
{
  std::array<char, PROBLEM> text{};
  if (const CoreRefusal * found = refusal_.take()) {
    arm_refusal_text(found, text.data(), text.size());
    refuse("request", text.data());
  }
  if (const CoreRefusal * found = aborted_.take()) {
    arm_refusal_text(found, text.data(), text.size());
    RCLCPP_WARN(get_node()->get_logger(), "trajectory aborted: %s", text.data());
  }
  if (const ArmReport * found = fault_.take()) {
    arm_fault_text(found, text.data(), text.size());
    RCLCPP_ERROR(get_node()->get_logger(), "fault %s", text.data());
  }
  if (went_blind_.exchange(false)) {
    RCLCPP_ERROR(
      get_node()->get_logger(),
      "no usable state has come since the controller was activated, for longer than state_timeout: the drives get the "
      "last known gravity effort, or zero");
  }
  if (const double late = unwritten_.load(); late > 0.0) {
    RCLCPP_WARN_THROTTLE(
      get_node()->get_logger(), *get_node()->get_clock(), PAUSE, "command interfaces have not taken commands for %.3g s", late);
  }
  if (const double gap = gap_.exchange(0.0); gap > 0.0) {
    RCLCPP_WARN(
      get_node()->get_logger(), "no update for %.3g s, longer than state_timeout: the arm is held at its position", gap);
  }
  if (is_unreachable_) {
    RCLCPP_WARN_THROTTLE(
      get_node()->get_logger(), *get_node()->get_clock(), PAUSE, "the tool cannot reach its streamed target, and waits");
  }
}

/// Logs, frees memory that is no longer used, and looks for subscribers, publishers and the end of a stream.
void Controller::watch()
{
  const std::lock_guard<std::mutex> lock(preparation_);
  free_used();
  log_reports();
  for (std::size_t k = 0; k < topics_.size(); ++k) {
    has_subscribers_[k] = topics_[k]->get_subscription_count() > 0;
  }
  is_wrench_wanted_ = wrench_topic_ && wrench_topic_->get_subscription_count() > 0;
  conflict_ = reference_subscription_ && reference_subscription_->get_publisher_count() > 1;
  if (is_estimated_ && core_velocity_is_silent(&velocity_, seconds(get_node()->now()) - last_time_)) {
    is_estimated_ = false;  // a stream of positions without new messages stands still at its last position
    std::fill(std::begin(velocity_.v), std::end(velocity_.v), 0.0);
    stand_still_ = true;
  }
}

// --- the update thread

/// The time of the loop in this update. It begins with the time of the nodes and grows by the periods, which the
/// controller_manager measures with a steady clock.
double Controller::passed(const rclcpp::Time & time, const rclcpp::Duration & period)
{
  const double elapsed = static_cast<double>(period.nanoseconds()) / 1e9;
  if (has_time_ && elapsed > state_timeout()) {
    gap_ = elapsed;
  }
  nanoseconds_ = has_time_ ? nanoseconds_ + std::max<std::int64_t>(period.nanoseconds(), 0) : time.nanoseconds();
  has_time_ = true;
  time_ = static_cast<double>(nanoseconds_) / 1e9;
  return time_;
}

/// Drop messages of streams that came while they were not followed.
void Controller::forget_streams()
{
  (void)reference_.take();
  for (Newest<ToolMessage> & stream : tool_) {
    (void)stream.take();
  }
}

void Controller::adopt_settings()
{
  core_scale_speed(core_, speed_);
  if (!used_settings_.has_room()) {
    return;
  }
  if (ArmSettings * next = settings_.exchange(nullptr)) {
    ArmSettings * before = arm_settings(arm_.get());
    arm_apply(arm_.get(), next);
    (void)used_settings_.put(before);
  }
}

void Controller::note(const CoreRefusal & refusal, Newest<CoreRefusal> & to)
{
  if (refusal.why != CORE_OK) {
    to.next() = refusal;
    to.hand_over();
  }
}

void Controller::note(const CoreRefusal & refusal) { note(refusal, refusal_); }

void Controller::track(double t, const StreamedReference & reference)
{
  const CoreRefusal refusal = core_track(
    core_, t, reference.joints.data(), reference.q.data(), reference.qd.data(), reference.qdd.data(),
    reference.effort.data());
  // The chained controller begins in the same update as this one, which has no state before its end.
  if (refusal.why != CORE_NOT_STARTED || !is_in_chained_mode()) {
    note(refusal);
  }
}

controller_interface::return_type Controller::update_reference_from_subscribers(
  const rclcpp::Time & time, const rclcpp::Duration & period)
{
  const double t = passed(time, period);
  adopt_settings();
  while (used_trajectories_.has_room()) {
    CoreTrajectory * back = core_returned(core_);
    if (!back) {
      break;
    }
    (void)used_trajectories_.put(back);
  }
  if (hold_.exchange(false)) {
    forget_streams();  // what has come since the last update came before
    note(core_hold(core_, t));
  }
  if (used_trajectories_.has_room()) {
    if (CoreTrajectory * next = trajectory_.exchange(nullptr)) {
      note(arm_follow(arm_.get(), next));
    }
  }
  const bool stands_still = stand_still_.exchange(false);
  if (const StreamedReference * next = reference_.take()) {
    track(t, *next);
  } else if (stands_still) {
    core_stand_still(core_);
  }
  for (std::size_t what = 0; what < tool_.size(); ++what) {
    if (const ToolMessage * next = tool_[what].take()) {
      note(arm_tool(arm_.get(), static_cast<int>(what), next->frame, t, next->stamp, next->numbers.data()));
    }
  }
  is_unreachable_ = arm_is_unreachable(arm_.get()) != 0;
  return controller_interface::return_type::OK;
}

bool Controller::read_states()
{
  bool is_finite = true;
  for (std::size_t i = 0; i < JOINTS; ++i) {
    q_[i] = value_of(state_interfaces_[position_place_[i]], 0);
    qd_[i] = has_velocity_ ? value_of(state_interfaces_[velocity_place_[i]], 0) : 0.0;
    is_finite = is_finite && std::isfinite(q_[i]);
  }
  for (std::size_t i = 0; is_finite && i < JOINTS; ++i) {
    position_[i] = q_[i];
  }
  return is_finite;
}

/// Take the reference of the chained controller.
void Controller::update_chain(double t)
{
  adopt_settings();
  if (hold_.exchange(false)) {
    core_acknowledge(core_);  // the chained controller sets the reference
  }
  std::array<double, REFERENCES.size() * JOINTS> given{};
  std::transform(
    references_.begin(), references_.end(), given.begin(), [](const auto & interface) { return value_of(*interface, 0); });
  const auto part = [&given](std::size_t k, std::size_t i, double otherwise) {
    return std::isnan(given[k * JOINTS + i]) ? otherwise : given[k * JOINTS + i];
  };
  StreamedReference reference;
  for (std::size_t i = 0; i < JOINTS; ++i) {
    reference.joints[i] = !std::isnan(given[i]);
    reference.q[i] = part(0, i, 0.0);
    reference.qdd[i] = part(2, i, 0.0);
    reference.effort[i] = part(3, i, 0.0);
  }
  if (std::count(reference.joints.begin(), reference.joints.end(), 1) == 0) {
    return;
  }
  core_velocity_update(
    &chained_velocity_, core_settings(core_), t, reference.joints.data(), reference.q.data(), reference.qd.data());
  for (std::size_t i = 0; i < JOINTS; ++i) {
    reference.qd[i] = part(1, i, reference.qd[i]);
  }
  track(t, reference);
  forget_references();  // each is used once
}

controller_interface::return_type Controller::update_and_write_commands(
  const rclcpp::Time & time, const rclcpp::Duration & period)
{
  const double t = is_in_chained_mode() ? passed(time, period) : time_.load();
  if (is_in_chained_mode()) {
    update_chain(t);
  }
  core_set_conflict(core_, conflict_ && !is_in_chained_mode());
  if (tare_.exchange(false)) {
    core_tare(core_);
  }
  const bool is_finite = read_states();
  const int what = arm_update(arm_.get(), t, q_.data(), has_velocity_ ? qd_.data() : nullptr, &report_);
  has_position_ = has_position_ || is_finite;
  note(arm_dropped(arm_.get()));
  note(arm_aborted(arm_.get()), aborted_);
  if (report_.code == CORE_STATE_NOT_HELD) {
    note(report_.refusal);
  }
  if (report_.fault >= 0 && report_.faults != faults_) {
    faults_ = report_.faults;
    fault_.next() = report_;
    fault_.hand_over();
  }
  const bool is_written = write_commands(t, what);
  if (what == ARM_SEND) {
    publish(time);
  }
  if (what == ARM_BLIND && !is_blind_) {
    is_blind_ = went_blind_ = true;
  }
  return is_written && what != ARM_BLIND ? controller_interface::return_type::OK : controller_interface::return_type::ERROR;
}

/// False if commands could not be written for longer than drives may keep an old one.
bool Controller::write_commands(double t, int what)
{
  if (what == ARM_KEEP) {
    return true;
  }
  std::array<std::array<double, JOINTS>, 4> mit{};
  std::array<double, JOINTS> effort{};
  std::copy(report_.effort, report_.effort + JOINTS, effort.begin());
  if (mit_ && what == ARM_SEND) {
    arm_mit(
      arm_.get(), t, q_.data(), report_.effort, mit[0].data(), mit[1].data(), mit[2].data(), mit[3].data(),
      effort.data());
  }
  bool is_written = true;
  for (std::size_t i = 0; i < JOINTS; ++i) {
    is_written = write(effort_place_[i], effort[i]) && is_written;
    for (std::size_t k = 0; mit_ && k < MIT_INTERFACES.size(); ++k) {
      const bool is_position = k == 0 && what != ARM_SEND;
      if (!is_position) {
        is_written = write(mit_place_[k][i], mit[k][i]) && is_written;
      }
    }
  }
  written_ = is_written || has_written_ ? t : written_;  // the first failure is measured from the update before
  has_written_ = is_written;
  unwritten_ = is_written ? 0.0 : std::max(t - written_, 1e-9);
  return unwritten_ <= state_timeout();
}

bool Controller::write(std::size_t place, double value) { return set_value(command_interfaces_[place], value, 0); }

double Controller::state_timeout() const { return arm_given(arm_settings(arm_.get()))->state_timeout; }

void Controller::publish(const rclcpp::Time & time)
{
  // During a fault there are no terms of the law, but external efforts are still observed from the states.
  const bool is_observed = report_.code == CORE_SEND || report_.code == CORE_SILENT;
  const std::size_t end = is_observed ? publishers_.size() : ARM_TERMS + 1;
  for (std::size_t k = report_.fault < 0 ? 0 : ARM_TERMS + 1; k < end; ++k) {
    if (!has_subscribers_[k]) {
      continue;
    }
    std::vector<double> & values = k == ARM_TERMS ? messages_[k].position : messages_[k].effort;
    const double * from = k < ARM_TERMS    ? report_.terms + k * JOINTS
                          : k == ARM_TERMS ? report_.error
                                           : report_.external;
    messages_[k].header.stamp = time;
    std::copy(from, from + JOINTS, values.begin());
    publish_if_free(*publishers_[k], messages_[k], 0);
  }
  if (is_wrench_wanted_ && is_observed) {
    std::array<double, 6> found{};
    arm_wrench(arm_.get(), found.data());
    geometry_msgs::msg::Wrench & wrench = wrench_message_.wrench;
    wrench_message_.header.stamp = time;
    wrench.force.x = found[0];
    wrench.force.y = found[1];
    wrench.force.z = found[2];
    wrench.torque.x = found[3];
    wrench.torque.y = found[4];
    wrench.torque.z = found[5];
    publish_if_free(*wrench_publisher_, wrench_message_, 0);
  }
}

}  // namespace PACKAGE_NAMESPACE

PLUGINLIB_EXPORT_CLASS(PACKAGE_NAMESPACE::Controller, controller_interface::ChainableControllerInterface)
