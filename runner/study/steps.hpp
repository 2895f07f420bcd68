#pragma once

#include <coroutine>
#include <exception>
#include <optional>
#include <utility>

// GCC takes the frame of a coroutine for a type of other files, too.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wsubobject-linkage"
#endif

namespace hpcbench {

/// Why a study lets go of the process: so that the other studies of the call come to the same point, or until something may
/// have changed outside.
enum class Pause { turn, look };

/// What both ends of a chain of Steps know: where it goes on.
struct StepsLeaf {
  std::coroutine_handle<> handle;
  Pause pause = Pause::turn;
};

/// What every coroutine of Steps has, whatever it gives.
struct StepsPromise {
  StepsLeaf own;           // of the outermost one
  StepsLeaf* leaf = &own;  // of the chain
  std::coroutine_handle<> caller;
  std::exception_ptr error;

  struct BackToCaller {
    bool await_ready() noexcept { return false; }
    template <typename Promise>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> ended) noexcept {
      const std::coroutine_handle<> caller = ended.promise().caller;
      return caller ? caller : std::noop_coroutine();
    }
    void await_resume() noexcept {}
  };
  struct LetGo {
    StepsLeaf* leaf;
    Pause pause;
    bool await_ready() noexcept { return false; }
    void await_suspend(std::coroutine_handle<> here) noexcept { *leaf = {here, pause}; }
    void await_resume() noexcept {}
  };

  std::suspend_always initial_suspend() noexcept { return {}; }
  BackToCaller final_suspend() noexcept { return {}; }
  void unhandled_exception() noexcept { error = std::current_exception(); }
  LetGo await_transform(Pause pause) noexcept { return {leaf, pause}; }
  template <typename Inner>
  Inner&& await_transform(Inner&& inner) noexcept {
    return std::forward<Inner>(inner);
  }
};

/// Work that is done in steps, so that one thread carries many studies: a coroutine that lets go by `co_await Pause::look`,
/// waits for the Steps that it calls by `co_await`, and ends by `co_return`. It begins with its first step. What is passed by
/// reference must live until it has ended.
template <typename T>
class Steps {
 public:
  struct promise_type : StepsPromise {  // NOLINT(readability-identifier-naming): the language has this name
    std::optional<T> value;
    Steps get_return_object() { return Steps(std::coroutine_handle<promise_type>::from_promise(*this)); }
    void return_value(T result) { value = std::move(result); }
  };

  Steps(Steps&& other) noexcept : frame_(std::exchange(other.frame_, {})) {}
  Steps& operator=(Steps&&) = delete;
  ~Steps() {
    if (frame_) frame_.destroy();
  }

  /// Goes on until the next pause. False once it has ended: then `result` tells.
  bool step() {
    StepsLeaf& leaf = frame_.promise().own;
    if (!leaf.handle) leaf.handle = frame_;
    leaf.handle.resume();
    return !frame_.done();
  }
  /// Why it let go.
  Pause pause() const { return frame_.promise().own.pause; }
  /// What it gave, once; throws what it threw.
  T result() {
    if (frame_.promise().error) std::rethrow_exception(frame_.promise().error);
    return std::move(*frame_.promise().value);
  }

  bool await_ready() const noexcept { return false; }
  template <typename Promise>
  std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> caller) noexcept {
    frame_.promise().caller = caller;
    frame_.promise().leaf = caller.promise().leaf;
    return frame_;
  }
  T await_resume() { return result(); }

 private:
  explicit Steps(std::coroutine_handle<promise_type> frame) : frame_(frame) {}
  std::coroutine_handle<promise_type> frame_;
};

}  // namespace hpcbench
