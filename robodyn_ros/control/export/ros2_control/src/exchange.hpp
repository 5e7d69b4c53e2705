// Copyright 2026 robodyn_ros maintainers
// SPDX-License-Identifier: Apache-2.0

// Lock-free exchange of data between the update thread and the other threads.

#ifndef EXCHANGE_HPP
#define EXCHANGE_HPP

#include <array>
#include <atomic>
#include <cstddef>

#include "package.hpp"

// In the namespace of the package: two packages in one process have different types under the same names in C.
namespace PACKAGE_NAMESPACE
{

/// The newest value, from one writing thread to one reading thread; neither waits, and no value is read twice.
template <class T>
class Newest {
 public:
  /// The value to write next; owned by the writer until `hand_over`.
  T& next() { return slots_[written_]; }

  void hand_over() { written_ = middle_.exchange(written_ | fresh, std::memory_order_acq_rel) & index; }

  /// The newest value if it was not read before, else a null pointer; valid until the next call.
  const T* take() {
    if (!(middle_.load(std::memory_order_relaxed) & fresh)) return nullptr;
    read_ = middle_.exchange(read_, std::memory_order_acq_rel) & index;
    return &slots_[read_];
  }

 private:
  static constexpr unsigned fresh = 4, index = 3;
  std::array<T, 3> slots_{};
  std::atomic<unsigned> middle_{1};
  unsigned written_ = 0, read_ = 2;
};

/// A queue that returns pointers from one thread to another; with room for more than can be in it.
template <class T, std::size_t Room>
class ReturnQueue {
 public:
  /// False if there is no room.
  bool put(T* item) {
    const std::size_t end = end_.load(std::memory_order_relaxed);
    if (end - begin_.load(std::memory_order_acquire) == Room) return false;
    items_[end % Room] = item;
    end_.store(end + 1, std::memory_order_release);
    return true;
  }

  T* take() {
    const std::size_t begin = begin_.load(std::memory_order_relaxed);
    if (begin == end_.load(std::memory_order_acquire)) return nullptr;
    T* item = items_[begin % Room];
    begin_.store(begin + 1, std::memory_order_release);
    return item;
  }

  bool has_room() const { return end_.load(std::memory_order_relaxed) - begin_.load(std::memory_order_acquire) < Room; }

 private:
  std::array<T*, Room> items_{};
  std::atomic<std::size_t> begin_{0}, end_{0};
};

}  // namespace PACKAGE_NAMESPACE

#endif
