// Cooperative interruption. Long work checks whether its caller still waits, and returns early if not; its output is
// then undefined. It does not throw, because compilers assume that function clones do not throw.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>

namespace safdr {

// Throws if the caller no longer waits. The boundary to Python sets it; null means that work is never interrupted.
inline std::atomic<void (*)()> ask_whether_to_go_on{nullptr};

// Shared by the threads of one call of the core. Only the calling thread may ask; the others read its flag.
class Watch {
 public:
  void stop() { stopped_.store(true, std::memory_order_relaxed); }

  bool stopped(bool may_ask) noexcept {
    if (may_ask && std::chrono::steady_clock::now() >= due_) ask();
    return stopped_.load(std::memory_order_relaxed);
  }

  // The exception that interrupted the work; null if there is none.
  const std::exception_ptr& reason() const { return reason_; }

  // Short compared with the second that a user waits, long compared with acquiring the interpreter lock.
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

// The flag that the current thread checks, if any.
struct Watched {
  Watch* watch = nullptr;
  bool may_ask = false;
};
inline thread_local Watched watched;

// Returns true if the work must stop. A call takes about 30 ns: several thousand a second are cheap.
inline bool stopped() noexcept { return watched.watch != nullptr && watched.watch->stopped(watched.may_ask); }

// The same in a loop, at every 64th iteration from the 62nd on: short loops never ask.
inline bool stopped_at(std::int64_t turn) noexcept { return (turn & 63) == 62 && stopped(); }

}  // namespace safdr
