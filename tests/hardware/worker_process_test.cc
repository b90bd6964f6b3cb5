#include "hardware/worker_process.h"

#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <thread>
#include <variant>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "hardware/worker_frames.h"
#include "proto/worker.pb.h"

namespace autotune {
namespace {

// A worker that runs a shell script instead of answering.
std::unique_ptr<WorkerProcess> Shell(const std::string& script, int64_t memory_limit = 0) {
  WorkerOptions options;
  options.program = "/bin/sh";
  options.arguments = {"-c", script};
  options.memory_limit_bytes = memory_limit;
  absl::StatusOr<std::unique_ptr<WorkerProcess>> worker = WorkerProcess::Start(options);
  EXPECT_TRUE(worker.ok()) << worker.status();
  return worker.ok() ? *std::move(worker) : nullptr;
}

Failure FailureOf(WorkerProcess& worker, absl::string_view request, absl::Duration timeout) {
  std::variant<std::string, Failure> result = worker.Call(request, timeout);
  const Failure* failure = std::get_if<Failure>(&result);
  if (failure != nullptr) return *failure;
  ADD_FAILURE() << "an answer: " << std::get<std::string>(result);
  return Failure{FailureKind::kWrongResult, ""};
}

bool IsRunning(pid_t pid) { return kill(pid, 0) == 0; }

TEST(WorkerProcessTest, AnswersRequestsOneAfterTheOther) {
  absl::StatusOr<std::string> program = FindWorkerProgram();
  ASSERT_TRUE(program.ok()) << program.status();
  WorkerOptions options;
  options.program = *program;
  absl::StatusOr<std::unique_ptr<WorkerProcess>> worker = WorkerProcess::Start(options);
  ASSERT_TRUE(worker.ok()) << worker.status();
  const pid_t pid = (*worker)->pid();
  // One that cannot be read, one without content, one for a plugin that is not there.
  proto::WorkerRequest missing;
  missing.mutable_aot_compile()->set_plugin("/nowhere/libtpu.so");
  for (const std::string& request :
       {std::string("\xff\xff"), std::string(), missing.SerializeAsString()}) {
    std::variant<std::string, Failure> answer = (*worker)->Call(request, absl::Seconds(30));
    ASSERT_TRUE(std::holds_alternative<std::string>(answer)) << std::get<Failure>(answer).message;
    proto::WorkerReply reply;
    ASSERT_TRUE(reply.ParseFromString(std::get<std::string>(answer)));
    EXPECT_NE(reply.status_code(), 0);
    EXPECT_NE(reply.status_message(), "");
  }
  EXPECT_EQ((*worker)->pid(), pid);
  worker->reset();
  EXPECT_FALSE(IsRunning(pid));
}

TEST(WorkerProcessTest, ACrashIsTypedAndSaysWhy) {
  auto worker = Shell("sleep 0.1; echo 'Check failed: window fits' >&2; kill -ILL $$");
  const Failure failure = FailureOf(*worker, "x", absl::Seconds(30));
  EXPECT_EQ(failure.kind, FailureKind::kCrash);
  EXPECT_TRUE(absl::StrContains(failure.message, "SIGILL")) << failure.message;
  EXPECT_TRUE(absl::StrContains(failure.message, "Check failed: window fits")) << failure.message;
  EXPECT_FALSE(worker->alive());
  EXPECT_EQ(FailureOf(*worker, "y", absl::Seconds(1)).kind, FailureKind::kCrash);
}

TEST(WorkerProcessTest, AHungWorkerIsKilledWithItsChildren) {
  const std::string note = absl::StrCat(testing::TempDir(), "/child-", getpid());
  auto worker = Shell(absl::StrCat("sleep 1000 & echo $! > ", note, "; wait"));
  const absl::Time start = absl::Now();
  const Failure failure = FailureOf(*worker, "x", absl::Milliseconds(500));
  EXPECT_EQ(failure.kind, FailureKind::kTimeout);
  EXPECT_TRUE(absl::StrContains(failure.message, "500ms")) << failure.message;
  EXPECT_LT(absl::Now() - start, absl::Seconds(10));
  pid_t child = 0;
  std::ifstream(note) >> child;
  unlink(note.c_str());
  ASSERT_GT(child, 0);
  for (int i = 0; i < 100 && IsRunning(child); ++i) absl::SleepFor(absl::Milliseconds(20));
  // A killed orphan may wait for init as a zombie: its state, not its number, tells.
  std::ifstream stat(absl::StrCat("/proc/", child, "/stat"));
  std::string number, name, state;
  stat >> number >> name >> state;
  EXPECT_TRUE(state.empty() || state == "Z") << state;
}

// A worker that does not read would block a parent that writes more than the socket holds.
TEST(WorkerProcessTest, ALargeRequestToAHungWorkerTimesOut) {
  auto worker = Shell("sleep 1000");
  const std::string large(16 << 20, 'x');
  EXPECT_EQ(FailureOf(*worker, large, absl::Milliseconds(300)).kind, FailureKind::kTimeout);
}

TEST(WorkerProcessTest, AGreedyWorkerIsKilled) {
  auto worker =
      Shell("x=$(head -c 200000000 /dev/zero | tr '\\0' a); sleep 1000", int64_t{64} << 20);
  const Failure failure = FailureOf(*worker, "x", absl::Seconds(60));
  EXPECT_EQ(failure.kind, FailureKind::kOutOfMemory);
  EXPECT_TRUE(absl::StrContains(failure.message, "64 MiB")) << failure.message;
}

TEST(WorkerProcessTest, AMissingProgramIsAnError) {
  WorkerOptions options;
  options.program = "/nowhere/autotune-worker";
  EXPECT_EQ(WorkerProcess::Start(options).status().code(), absl::StatusCode::kNotFound);
}

TEST(WorkerFramesTest, MessagesOfAllSizes) {
  int sockets[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
  for (size_t size : {size_t{0}, size_t{1}, size_t{3}, size_t{5'000'000}}) {
    const std::string message(size, 'm');
    std::thread writer([&] { EXPECT_TRUE(WriteFrame(sockets[0], message).ok()); });
    absl::StatusOr<std::string> read = ReadFrame(sockets[1]);
    writer.join();
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_TRUE(*read == message);
  }
  close(sockets[0]);
  EXPECT_EQ(ReadFrame(sockets[1]).status().code(), absl::StatusCode::kUnavailable);
  close(sockets[1]);
}

TEST(WorkerFramesTest, AnAbsurdLengthIsRefused) {
  int sockets[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
  ASSERT_EQ(write(sockets[0], "\xff\xff\xff\xff", 4), 4);
  FrameReader reader;
  EXPECT_EQ(reader.Read(sockets[1]).status().code(), absl::StatusCode::kDataLoss);
  close(sockets[0]);
  close(sockets[1]);
}

}  // namespace
}  // namespace autotune
