// Copyright 2026 robodyn_ros maintainers
// SPDX-License-Identifier: Apache-2.0

// Loads the controllers of several packages into one process, with all names of each library seen by the others, and runs
// each on an arm that stands. The arguments are folders with arm.so and parameters.txt. What each commands is printed.

#include <dlfcn.h>
#include <unistd.h>

#include <iostream>

#include "controller_interface/chainable_controller_interface.hpp"

using Controller = controller_interface::ChainableControllerInterface;

int main(int count, char ** folders)
{
  const rclcpp_lifecycle::State state;
  for (int k = 1; k < count; ++k) {
    void * library = dlopen((std::string(folders[k]) + "/arm.so").c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (!library || chdir(folders[k]) != 0) {
      std::cerr << (library ? "no such folder" : dlerror()) << "\n";
      return 1;
    }
    const auto create = reinterpret_cast<Controller * (*)()>(dlsym(library, "create_controller"));
    std::unique_ptr<Controller> controller(create());
    if (controller->on_init() != controller_interface::CallbackReturn::SUCCESS) return 2;
    (void)controller->export_reference_interfaces();
    if (controller->on_configure(state) != controller_interface::CallbackReturn::SUCCESS) return 3;
    std::vector<hardware_interface::LoanedInterface> states, commands;
    const auto wanted = controller->state_interface_configuration().names;
    const auto effort = controller->command_interface_configuration().names;
    std::vector<double> measured(wanted.size(), 0.0), sent(effort.size(), 0.0);
    for (std::size_t i = 0; i < wanted.size(); ++i) states.emplace_back(wanted[i], &measured[i]);
    for (std::size_t i = 0; i < effort.size(); ++i) commands.emplace_back(effort[i], &sent[i]);
    controller->lend(commands, states);
    if (controller->on_activate(state) != controller_interface::CallbackReturn::SUCCESS) return 4;
    for (std::int64_t t = 1; t <= 1000; ++t) {
      if (controller->update(rclcpp::Time(t * 1000000), rclcpp::Duration(1000000)) != controller_interface::return_type::OK) return 5;
    }
    std::cout << folders[k] << ":";
    for (const double value : sent) std::cout << " " << value;
    std::cout << "\n";
    if (controller->on_deactivate(state) != controller_interface::CallbackReturn::SUCCESS) return 6;
  }
  return 0;
}
