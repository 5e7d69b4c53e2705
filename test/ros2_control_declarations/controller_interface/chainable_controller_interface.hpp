#include "declarations.hpp"
