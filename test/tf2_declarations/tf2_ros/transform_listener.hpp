#include "tf2_ros/buffer.hpp"
