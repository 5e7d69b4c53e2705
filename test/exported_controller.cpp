// Copyright 2026 robodyn_ros maintainers
// SPDX-License-Identifier: Apache-2.0

// Runs an exported controller through a history that a test has written, and prints what it commands.
//
// The history is a file of numbers (double). Each period has: t, positions (N), velocities (N), and what is asked of the
// arm before the update: 0 nothing; 1 a reference: has velocities and efforts, then joints, q, qd, effort (N each); 2 a trajectory:
// points, columns, degree, efforts of each point, when it begins from now on or NaN, joints (columns), then for each point its time and its rows; 3 hold; 4 parameters: how many
// lines of changes.txt; 5 publishers of references; 6 reference interfaces (4 N), chained; 7 the life cycle, off and on;
// 8 a pose of the tool: frame, position, orientation (x, y, z, w); 9 a twist of it; 10 a wrench of it; 11 tare; 12 speed of
// trajectories; 13 as 2, and 14 as 1, and a hold at once. Frames are: 0 none, the links, then those of FRAMES.
// The commands of each period are written to standard output, N numbers each, or 5 N in MIT mode. An update that fails is the
// last, as by the controller_manager: the controller is deactivated, and the exit code is 7.
// Options: "mit"; "clock": the nodes' clock is set in the middle of the history, twice; "unheard": nobody subscribes;
// "before:x": the commands before; "final": the commands after the deactivation are written too; "refuse:a:b": command
// interfaces take nothing from the period a on, before b.

#include <dlfcn.h>
#include <pthread.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <iostream>

#include "controller_interface/chainable_controller_interface.hpp"
#include "arm_loop.h"
#include "tf2_ros/buffer.hpp"
#define PARAMETERS_NAMESPACE harness_parameters
#include "parameters.hpp"

extern "C" controller_interface::ChainableControllerInterface * create_controller();

static constexpr std::size_t N = CORE_JOINTS;
static bool is_counted = false;
static long allocations = 0, locks = 0;

#ifdef COUNT_CALLS
extern "C" {
void * __libc_malloc(std::size_t);
void * __libc_calloc(std::size_t, std::size_t);
void * __libc_realloc(void *, std::size_t);
void __libc_free(void *);
void * malloc(std::size_t size) { allocations += is_counted; return __libc_malloc(size); }
void * calloc(std::size_t count, std::size_t size) { allocations += is_counted; return __libc_calloc(count, size); }
void * realloc(void * place, std::size_t size) { allocations += is_counted; return __libc_realloc(place, size); }
void free(void * place) { allocations += is_counted && place; __libc_free(place); }
int pthread_mutex_lock(pthread_mutex_t * mutex)
{
  using Lock = int (*)(pthread_mutex_t *);
  static const Lock lock = reinterpret_cast<Lock>(dlsym(RTLD_NEXT, "pthread_mutex_lock"));
  locks += is_counted;
  return lock(mutex);
}
}
#endif

namespace
{
struct History
{
  std::ifstream file{"history.bin", std::ios::binary};
  bool next(double & value) { return static_cast<bool>(file.read(reinterpret_cast<char *>(&value), sizeof value)); }
  double number()
  {
    double value = 0.0;
    if (!next(value)) {
      throw std::runtime_error("the history ends within a period");
    }
    return value;
  }
  std::vector<double> numbers(std::size_t count)
  {
    std::vector<double> found(count);
    for (double & value : found) value = number();
    return found;
  }
};

const std::array<const char *, 3> FRAMES = {"camera", "stopped", "elsewhere"};  // tf knows the first, and once knew the second

std::string frame_of(double place)
{
  const std::size_t index = static_cast<std::size_t>(place);
  return index == 0 ? "" : index <= ARM_LINKS ? arm_frames[index - 1] : FRAMES.at(index - ARM_LINKS - 1);
}

const std::array<const char *, 5> MIT = {"effort", "position", "velocity", "stiffness", "damping"};
}  // namespace

int main(int count, char ** options)
{
  const auto option = [&](const std::string & name) {  // what comes after it; null if it is not given
    const auto found = std::find_if(options + 1, options + count, [&](const std::string & it) { return it.rfind(name, 0) == 0; });
    return found == options + count ? nullptr : *found + name.size();
  };
  const bool mit = option("mit"), sets_clock = option("clock");
  const char * refused = option("refuse:");
  const long refused_from = refused ? std::atol(refused) : 0, refused_to = refused ? std::atol(std::strchr(refused, ':') + 1) : 0;
  using geometry_msgs::msg::WrenchStamped, sensor_msgs::msg::JointState;
  rclcpp::Publisher<JointState>::subscriptions = option("unheard") ? 0 : 1;
  const std::size_t kinds = mit ? MIT.size() : 1;
  const rclcpp_lifecycle::State state;
  for (const std::size_t k : {0, 1}) {
    auto & known = tf2_ros::Buffer::transforms[FRAMES[k]];
    known.header.frame_id = arm_links[0];
    known.header.stamp.sec = k == 0 ? 0 : 1;
    known.transform = {{0.3, -0.2, 0.5}, {0.0, 0.6, 0.0, 0.8}};
  }
  std::unique_ptr<controller_interface::ChainableControllerInterface> controller(create_controller());
  const auto node = controller->get_node();
  std::array<double, 2 * N> states{};
  std::vector<double> commands(kinds * N, option("before:") ? std::atof(option("before:")) : std::nan(""));
  if (controller->on_init() != controller_interface::CallbackReturn::SUCCESS) return 2;
  const auto references = controller->export_reference_interfaces();
  if (controller->on_configure(state) != controller_interface::CallbackReturn::SUCCESS) return 3;
  std::vector<hardware_interface::LoanedInterface> lent_states, lent_commands;
  for (std::size_t i = N; i-- > 0;) {  // in another order than the arm's
    const std::string joint = arm_joints[i];
    lent_states.emplace_back(joint + "/velocity", &states[N + i]);
    lent_states.emplace_back(joint + "/position", &states[i]);
    for (std::size_t k = 0; k < kinds; ++k) lent_commands.emplace_back(joint + "/" + MIT[k], &commands[k * N + i]);
  }
  controller->lend(lent_commands, lent_states);
  if (controller->on_activate(state) != controller_interface::CallbackReturn::SUCCESS) return 4;
  History history;
  std::size_t changed = 0;
  const auto changes = read_parameters("changes.txt");
  std::vector<double> written;
  long periods = 0;
  double t = 0.0;
  std::int64_t before = 0;
  bool is_good = true;
  while (is_good && history.next(t)) {
    hardware_interface::LoanedInterface::refuses = periods >= refused_from && periods < refused_to;
    ++periods;
    for (double & value : states) value = history.number();
    const int what = static_cast<int>(history.number());
    const auto nanoseconds = static_cast<std::int64_t>(std::llround(t * 1e9));
    const rclcpp::Duration period(nanoseconds - before);
    before = nanoseconds;
    const bool is_set = sets_clock && nanoseconds % 2000000000 > 1000000000;
    const rclcpp::Time time(nanoseconds + (is_set ? 3600000000000 : 0));
    node->time = time;
    const bool is_chained = what == 6;
    if (is_chained != controller->is_in_chained_mode()) {
      if (controller->on_deactivate(state) != controller_interface::CallbackReturn::SUCCESS) return 5;
      controller->set_chained_mode(is_chained);
      if (controller->on_activate(state) != controller_interface::CallbackReturn::SUCCESS) return 6;
    }
    if (what == 1 || what == 14) {
      const bool has_rest = history.number() != 0.0;
      const auto joints = history.numbers(N), q = history.numbers(N), qd = history.numbers(N), effort = history.numbers(N);
      auto message = std::make_shared<sensor_msgs::msg::JointState>();
      for (std::size_t i = N; i-- > 0;) {
        if (joints[i] == 0.0) continue;
        message->name.push_back(arm_joints[i]);
        message->position.push_back(q[i]);
        if (!has_rest) continue;
        message->velocity.push_back(qd[i]);
        message->effort.push_back(effort[i]);
      }
      node->subscription<JointState>().callback(message);
    } else if (what == 2 || what == 13) {
      const auto shape = history.numbers(5);
      const std::size_t points = static_cast<std::size_t>(shape[0]), columns = static_cast<std::size_t>(shape[1]);
      auto message = std::make_shared<trajectory_msgs::msg::JointTrajectory>();
      if (!std::isnan(shape[4])) {
        message->header.stamp = rclcpp::Time(time.nanoseconds() + static_cast<std::int64_t>(std::llround(shape[4] * 1e9)));
      }
      for (const double joint : history.numbers(columns)) message->joint_names.push_back(arm_joints[static_cast<int>(joint)]);
      for (std::size_t k = 0; k < points; ++k) {
        trajectory_msgs::msg::JointTrajectoryPoint point;
        const auto nanoseconds = std::llround(history.number() * 1e9);
        point.time_from_start.sec = static_cast<std::int32_t>(nanoseconds / 1000000000);
        point.time_from_start.nanosec = static_cast<std::uint32_t>(nanoseconds % 1000000000);
        point.positions = history.numbers(columns);
        if (shape[2] > 1.0) point.velocities = history.numbers(columns);
        if (shape[2] > 3.0) point.accelerations = history.numbers(columns);
        point.effort = history.numbers(static_cast<std::size_t>(shape[3]));
        message->points.push_back(point);
      }
      node->subscription<trajectory_msgs::msg::JointTrajectory>().callback(message);
    }
    if (what == 3 || what > 12) {
      const auto answer = std::make_shared<std_srvs::srv::Trigger::Response>();
      node->services["~/hold"]->callback(nullptr, answer);
      if (!answer->success) return 10;
    } else if (what == 4) {
      std::vector<rclcpp::Parameter> set;
      std::vector<rclcpp::Parameter::Value> values;
      for (auto left = static_cast<std::size_t>(history.number()); left > 0; --left, ++changed) {
        set.emplace_back(changes.at(changed).first, changes.at(changed).second);
        values.push_back(changes.at(changed).second);
      }
      if (!node->set(set, values)) std::cerr << "parameters are refused at " << t << "\n";
    } else if (what == 5) {
      node->subscription<JointState>().publishers = static_cast<std::size_t>(history.number());
    } else if (what == 6) {
      const auto given = history.numbers(4 * N);
      for (std::size_t k = 0; k < given.size(); ++k) (void)references[k]->set_value(given[k]);
    } else if (what == 7) {
      if (controller->on_deactivate(state) != controller_interface::CallbackReturn::SUCCESS) return 5;
      if (controller->on_activate(state) != controller_interface::CallbackReturn::SUCCESS) return 6;
    } else if (what == 8) {
      auto message = std::make_shared<geometry_msgs::msg::PoseStamped>();
      message->header.frame_id = frame_of(history.number());
      const auto v = history.numbers(7);
      message->pose = {{v[0], v[1], v[2]}, {v[3], v[4], v[5], v[6]}};
      node->subscription<geometry_msgs::msg::PoseStamped>().callback(message);
    } else if (what == 9) {
      auto message = std::make_shared<geometry_msgs::msg::TwistStamped>();
      message->header.frame_id = frame_of(history.number());
      const auto v = history.numbers(6);
      message->twist = {{v[0], v[1], v[2]}, {v[3], v[4], v[5]}};
      node->subscription<geometry_msgs::msg::TwistStamped>().callback(message);
    } else if (what == 10) {
      auto message = std::make_shared<WrenchStamped>();
      message->header.frame_id = frame_of(history.number());
      const auto v = history.numbers(6);
      message->wrench = {{v[0], v[1], v[2]}, {v[3], v[4], v[5]}};
      node->subscription<WrenchStamped>().callback(message);
    } else if (what == 11) {
      const auto answer = std::make_shared<std_srvs::srv::Trigger::Response>();
      node->services["~/tare"]->callback(nullptr, answer);
      if (answer->success != (ARM_OBSERVES == 1)) return 10;
    } else if (what == 12) {
      auto message = std::make_shared<std_msgs::msg::Float64>();
      message->data = history.number();
      node->subscription<std_msgs::msg::Float64>().callback(message);
    }
    node->timer->callback();
    is_counted = true;
    const auto done = controller->update(time, period);
    is_counted = false;
    is_good = done == controller_interface::return_type::OK;
    written.insert(written.end(), commands.begin(), commands.end());
    if (!is_good) node->timer->callback();
  }
  hardware_interface::LoanedInterface::refuses = false;
  if (controller->on_deactivate(state) != controller_interface::CallbackReturn::SUCCESS) return 8;
  const auto held = std::make_shared<std_srvs::srv::Trigger::Response>();
  node->services["~/hold"]->callback(nullptr, held);
  if (held->success) return 10;  // nothing holds the arm
  node->timer->callback();
  std::cerr << "deactivated\n";
  node->timer->callback();
  if (option("final") || !is_good) written.insert(written.end(), commands.begin(), commands.end());
  auto unfollowed = std::make_shared<trajectory_msgs::msg::JointTrajectory>();
  unfollowed->joint_names = {arm_joints[0]};
  unfollowed->points.resize(1);
  unfollowed->points[0].positions = {states[0]};
  unfollowed->points[0].time_from_start.sec = 1;
  node->subscription<trajectory_msgs::msg::JointTrajectory>().callback(unfollowed);
  if (controller->on_cleanup(state) != controller_interface::CallbackReturn::SUCCESS) return 8;
  const auto most = [](const auto &... items) { return std::max({items.use_count()...}); };
  long kept = std::max({node->timer.use_count(), node->on_set.use_count(), node->post_set.use_count(),
    std::apply(most, node->subscriptions)});
  for (const auto & service : node->services) kept = std::max(kept, service.second.use_count());
  if (kept > 1) return 9;  // something stays after a cleanup
  std::cerr << "cleaned up\n";
  auto late = std::make_shared<geometry_msgs::msg::PoseStamped>();  // its callback has waited for the cleanup
  late->header.frame_id = FRAMES[0];
  node->subscription<geometry_msgs::msg::PoseStamped>().callback(late);
  std::cout.write(reinterpret_cast<const char *>(written.data()), static_cast<std::streamsize>(written.size() * sizeof(double)));
  std::cerr << "periods " << periods << "\n";
  std::cerr << "published " << realtime_tools::RealtimePublisher<JointState>::published << "\n";
  std::cerr << "allocations " << allocations << " locks " << locks << "\n";
  return is_good ? 0 : 7;
}
