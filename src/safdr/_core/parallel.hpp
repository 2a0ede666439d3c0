// Independent tasks over threads. Each task owns its data, so the answer does not depend on who runs it.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

namespace safdr {

// Asked now and then by the calling thread whether to give up (a person pressed Ctrl-C).
using Interrupted = std::function<bool()>;
constexpr std::chrono::milliseconds kAskEvery{100};

// Calls worker(next) on each thread; worker takes task numbers from next() until it returns -1.
template <class Worker>
void run_tasks(std::int64_t n_tasks, std::int64_t n_threads, const Interrupted& interrupted,
               Worker worker) {
  std::atomic<std::int64_t> counter{0};
  const auto next = [&counter, n_tasks]() -> std::int64_t {
    const std::int64_t task = counter.fetch_add(1, std::memory_order_relaxed);
    return task < n_tasks ? task : -1;
  };
  auto asked = std::chrono::steady_clock::now();
  const auto next_unless_interrupted = [&]() -> std::int64_t {
    const auto now = std::chrono::steady_clock::now();
    if (now - asked > kAskEvery) {
      asked = now;
      if (interrupted()) counter.store(n_tasks, std::memory_order_relaxed);
    }
    return next();
  };
  std::vector<std::jthread> helpers;
  for (std::int64_t i = 1; i < std::min(n_threads, n_tasks); ++i) {
    helpers.emplace_back([&] { worker(next); });
  }
  worker(next_unless_interrupted);
}

}  // namespace safdr
