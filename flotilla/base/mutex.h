// Mutexes whose use the compiler checks: clang's thread safety analysis (scripts/check_locks)
// reports a member that is read or written without the mutex named by its FL_GUARDED_BY. Other
// compilers ignore the annotations. The types cost the same as the standard ones that they wrap,
// and their methods have the same names.
//
//   Mutex mutex_;
//   CondVar changed_;
//   int64_t count_ FL_GUARDED_BY(mutex_) = 0;
//
//   MutexLock lock(mutex_);
//   while (count_ == 0) changed_.wait(mutex_);
#pragma once

#include <condition_variable>
#include <mutex>
#include <shared_mutex>
#include <utility>

#if defined(__clang__)
#define FL_THREAD_ANNOTATION(x) __attribute__((x))
#else
#define FL_THREAD_ANNOTATION(x)
#endif

// Of a type: it can be held; it holds another for its own lifetime.
#define FL_CAPABILITY(name) FL_THREAD_ANNOTATION(capability(name))
#define FL_SCOPED_CAPABILITY FL_THREAD_ANNOTATION(scoped_lockable)
// Of a variable: it is used only while the mutex is held.
#define FL_GUARDED_BY(mutex) FL_THREAD_ANNOTATION(guarded_by(mutex))
// Of a function, or of a lambda after its parameters: the caller holds the mutex.
#define FL_REQUIRES(...) FL_THREAD_ANNOTATION(requires_capability(__VA_ARGS__))
// Of a function: it takes or releases the mutex; without arguments, the object itself.
#define FL_ACQUIRE(...) FL_THREAD_ANNOTATION(acquire_capability(__VA_ARGS__))
#define FL_ACQUIRE_SHARED(...) FL_THREAD_ANNOTATION(acquire_shared_capability(__VA_ARGS__))
#define FL_TRY_ACQUIRE(...) FL_THREAD_ANNOTATION(try_acquire_capability(__VA_ARGS__))
#define FL_RELEASE(...) FL_THREAD_ANNOTATION(release_capability(__VA_ARGS__))
// Of a function: the analysis takes the mutex as held from here on.
#define FL_ASSERT_HELD(...) FL_THREAD_ANNOTATION(assert_capability(__VA_ARGS__))
// Of a function whose locking the analysis cannot follow; a comment gives the reason.
#define FL_NO_THREAD_SAFETY_ANALYSIS FL_THREAD_ANNOTATION(no_thread_safety_analysis)

namespace flotilla {

class FL_CAPABILITY("mutex") Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void lock() FL_ACQUIRE() { mutex_.lock(); }
  bool try_lock() FL_TRY_ACQUIRE(true) { return mutex_.try_lock(); }
  void unlock() FL_RELEASE() { mutex_.unlock(); }
  // Does nothing. States that the mutex is held where the analysis cannot see it: in a function
  // that is called through an interface without annotations. REQUIRES: it is held.
  void AssertHeld() const FL_ASSERT_HELD() {}

 private:
  friend class CondVar;
  std::mutex mutex_;
};

// Holds a mutex during its lifetime, except between unlock and lock.
class FL_SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) FL_ACQUIRE(mutex) : lock_(mutex) {}
  ~MutexLock() FL_RELEASE() {}
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

  void lock() FL_ACQUIRE() { lock_.lock(); }
  void unlock() FL_RELEASE() { lock_.unlock(); }

 private:
  std::unique_lock<Mutex> lock_;
};

// A condition variable. A wait releases the mutex meanwhile; it may end without a notification, so
// it stands in a loop that checks the condition, or is given a predicate with FL_REQUIRES.
class CondVar {
 public:
  void notify_one() { condition_.notify_one(); }
  void notify_all() { condition_.notify_all(); }

  void wait(Mutex& mutex) FL_REQUIRES(mutex) {
    Held held(mutex);
    condition_.wait(held.lock);
  }
  template <typename Time>
  std::cv_status wait_until(Mutex& mutex, const Time& deadline) FL_REQUIRES(mutex) {
    Held held(mutex);
    return condition_.wait_until(held.lock, deadline);
  }
  // The value of the predicate when the wait ends.
  template <typename Time, typename Predicate>
  bool wait_until(Mutex& mutex, const Time& deadline, Predicate predicate) FL_REQUIRES(mutex) {
    Held held(mutex);
    return condition_.wait_until(held.lock, deadline, std::move(predicate));
  }
  template <typename Duration, typename Predicate>
  bool wait_for(Mutex& mutex, const Duration& duration, Predicate predicate) FL_REQUIRES(mutex) {
    Held held(mutex);
    return condition_.wait_for(held.lock, duration, std::move(predicate));
  }

 private:
  // A mutex held by the caller, in the form that std::condition_variable takes.
  struct Held {
    explicit Held(Mutex& mutex) : lock(mutex.mutex_, std::adopt_lock) {}
    ~Held() { lock.release(); }
    std::unique_lock<std::mutex> lock;
  };

  std::condition_variable condition_;
};

// A mutex that any number of readers may hold together, and a writer alone.
class FL_CAPABILITY("mutex") SharedMutex {
 public:
  SharedMutex() = default;
  SharedMutex(const SharedMutex&) = delete;
  SharedMutex& operator=(const SharedMutex&) = delete;

 private:
  friend class SharedLock;
  friend class ExclusiveLock;
  std::shared_mutex mutex_;
};

// Holds it as a reader until unlock, or during its lifetime.
class FL_SCOPED_CAPABILITY SharedLock {
 public:
  explicit SharedLock(SharedMutex& mutex) FL_ACQUIRE_SHARED(mutex) : lock_(mutex.mutex_) {}
  ~SharedLock() FL_RELEASE() {}
  SharedLock(const SharedLock&) = delete;
  SharedLock& operator=(const SharedLock&) = delete;

  void unlock() FL_RELEASE() { lock_.unlock(); }

 private:
  std::shared_lock<std::shared_mutex> lock_;
};

// Holds it as the writer during its lifetime.
class FL_SCOPED_CAPABILITY ExclusiveLock {
 public:
  explicit ExclusiveLock(SharedMutex& mutex) FL_ACQUIRE(mutex) : lock_(mutex.mutex_) {}
  ~ExclusiveLock() FL_RELEASE() {}
  ExclusiveLock(const ExclusiveLock&) = delete;
  ExclusiveLock& operator=(const ExclusiveLock&) = delete;

 private:
  std::lock_guard<std::shared_mutex> lock_;
};

}  // namespace flotilla
