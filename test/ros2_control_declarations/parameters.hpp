// Copyright 2026 robodyn_ros maintainers
// SPDX-License-Identifier: Apache-2.0

// In place of the header that generate_parameter_library makes: it declares what its file names, with the defaults.
// PARAMETERS_NAMESPACE is the first word of that file. A test writes the defaults, one in a line: name, kind, values.

#include <fstream>
#include <sstream>

#include "declarations.hpp"

#ifndef PARAMETERS_HPP
#define PARAMETERS_HPP

inline rclcpp::Parameter::Value read_value(const std::string & kind, std::istream & text)
{
  std::vector<std::string> words;
  for (std::string word; std::getline(text, word, '\t');) {
    words.push_back(word);
  }
  std::vector<double> numbers;
  if (kind == "double" || kind == "double_array") {
    for (const std::string & word : words) {
      numbers.push_back(std::stod(word));
    }
  }
  if (kind == "double") return numbers.at(0);
  if (kind == "double_array") return numbers;
  if (kind == "int") return static_cast<std::int64_t>(std::stoll(words.at(0)));
  if (kind == "bool") return words.at(0) == "true";
  if (kind == "string") return words.empty() ? std::string() : words[0];
  return words;
}

inline std::vector<std::pair<std::string, rclcpp::Parameter::Value>> read_parameters(const std::string & path)
{
  std::vector<std::pair<std::string, rclcpp::Parameter::Value>> found;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream text(line);
    std::string name, kind;
    std::getline(text, name, '\t');
    std::getline(text, kind, '\t');
    found.emplace_back(name, read_value(kind, text));
  }
  return found;
}

#endif

namespace PARAMETERS_NAMESPACE
{
class ParamListener
{
public:
  explicit ParamListener(const std::shared_ptr<rclcpp_lifecycle::LifecycleNode> & node)
  {
    for (const auto & [name, value] : read_parameters("parameters.txt")) {
      node->parameters.emplace(name, value);
    }
  }
};
}  // namespace PARAMETERS_NAMESPACE
