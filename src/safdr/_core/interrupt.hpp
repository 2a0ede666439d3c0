// Long work looks up now and then whether it is still wanted, and returns where it is not: what it has written by then
// means nothing. Nothing is thrown through it, since compilers take clones for several instruction sets not to throw.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>

namespace safdr {

// Throws where the work is not wanted any more. The boundary to Python sets it; none means that it always is.
inline std::atomic<void (*)()> ask_whether_to_go_on{nullptr};

// Shared by the threads of one call of the core. Only the one that called may ask; the others see what it was told.
class Watch {
 public:
  void stop() { stopped_.store(true, std::memory_order_relaxed); }

  bool stopped(bool may_ask) noexcept {
    if (may_ask && std::chrono::steady_clock::now() >= due_) ask();
    return stopped_.load(std::memory_order_relaxed);
  }

  // Why the caller does not wait any more; null if it does.
  const std::exception_ptr& reason() const { return reason_; }

  // Short against the second that a user waits, long against what it takes to get hold of Python.
  static constexpr std::chrono::milliseconds kPatience{100};

 private:
  void ask() noexcept {
    try {
      void (*question)() = ask_whether_to_go_on.load();
      if (question != nullptr && !reason_) question();
    } catch (...) {
      reason_ = std::current_exception();
      stop();
    }
    due_ = std::chrono::steady_clock::now() + kPatience;
  }

  std::atomic<bool> stopped_{false};
  std::exception_ptr reason_;
  std::chrono::steady_clock::time_point due_ = std::chrono::steady_clock::now() + kPatience;
};

// What the thread at hand is to look at, if anything.
struct Watched {
  Watch* watch = nullptr;
  bool may_ask = false;
};
inline thread_local Watched watched;

// Whether the work is to stop. It takes some 30 ns: to be asked some thousand times a second.
inline bool stopped() noexcept { return watched.watch != nullptr && watched.watch->stopped(watched.may_ask); }

// The same in a loop, at every 64th turn from the 62nd on: short loops never ask.
inline bool stopped_at(std::int64_t turn) noexcept { return (turn & 63) == 62 && stopped(); }

}  // namespace safdr
