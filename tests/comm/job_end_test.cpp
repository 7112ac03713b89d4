#include "comm/job_end.hpp"

#include <gtest/gtest.h>
#include <signal.h>

#include <array>
#include <ostream>
#include <string>

namespace sluice {

void PrintTo(const Ending& ending, std::ostream* stream) {
    *stream << "code " << static_cast<int>(ending.code) << (ending.is_said ? ", said" : "")
            << (ending.notes_end ? ", end noted" : "") << (ending.notes_loss ? ", loss noted" : "")
            << (ending.waits_for_root ? ", waits for rank 0" : "") << ", saves " << static_cast<int>(ending.saves)
            << (ending.tells_root ? ", tells rank 0" : "") << (ending.aborts ? ", aborts" : "");
}

namespace {

using namespace std::chrono_literals;
using Saves = Ending::Saves;

struct SignalRow {
    const char* name;
    ReceivedSignal received;
    SignalAnswer answer;
};

constexpr RunPhase preparing = RunPhase::preparing;
constexpr RunPhase serving = RunPhase::serving;
constexpr RunPhase finishing = RunPhase::finishing;

const std::array signals{
    // The first signal.
    SignalRow{"before the first chunk", {.signal = SIGTERM, .phase = preparing}, SignalAnswer::end},
    SignalRow{"SIGUSR1 then, to rank 0", {.signal = SIGUSR1, .phase = preparing}, SignalAnswer::end},
    SignalRow{
        "SIGTERM then, to another rank", {.signal = SIGTERM, .phase = preparing, .is_root = false}, SignalAnswer::end},
    SignalRow{"SIGUSR1 then, to another rank, whose rank 0 may serve",
              {.signal = SIGUSR1, .phase = preparing, .is_root = false},
              SignalAnswer::drain},
    SignalRow{"while serving", {.signal = SIGTERM, .phase = serving}, SignalAnswer::drain},
    SignalRow{"to another rank", {.signal = SIGINT, .phase = serving, .is_root = false}, SignalAnswer::drain},
    SignalRow{"once all results are there", {.signal = SIGTERM, .phase = finishing}, SignalAnswer::drain},

    // While a stop is under way.
    SignalRow{"passed on twice",
              {.signal = SIGTERM, .phase = serving, .asked = SIGTERM, .since_first = 10ms},
              SignalAnswer::ignore},
    SignalRow{"passed on as another one",
              {.signal = SIGTERM, .phase = serving, .asked = SIGINT, .since_first = 10ms},
              SignalAnswer::ignore},
    SignalRow{"a second one, later",
              {.signal = SIGTERM, .phase = serving, .asked = SIGTERM, .since_first = 1s},
              SignalAnswer::end},
    SignalRow{"a second one once all results are there",
              {.signal = SIGINT, .phase = finishing, .asked = SIGTERM, .since_first = 3s},
              SignalAnswer::end},
    SignalRow{"passed on twice to a rank that prepares",
              {.signal = SIGUSR1, .phase = preparing, .is_root = false, .asked = SIGUSR1, .since_first = 10ms},
              SignalAnswer::ignore},
    SignalRow{"another one to a rank that prepares",
              {.signal = SIGTERM, .phase = preparing, .is_root = false, .asked = SIGUSR1, .since_first = 10ms},
              SignalAnswer::end},

    // srun's SIGTERM after rank 0 has ended by SIGUSR1 before its first chunk.
    SignalRow{"to a rank that has not heard of rank 0",
              {.signal = SIGTERM, .phase = serving, .is_root = false, .asked = SIGUSR1, .since_first = 10ms},
              SignalAnswer::end},
    SignalRow{"to a rank that rank 0 serves",
              {.signal = SIGTERM,
               .phase = serving,
               .is_root = false,
               .hears_root = true,
               .asked = SIGUSR1,
               .since_first = 10ms},
              SignalAnswer::ignore},
    SignalRow{"to rank 0 itself",
              {.signal = SIGTERM, .phase = serving, .asked = SIGUSR1, .since_first = 10ms},
              SignalAnswer::ignore},

    // A soft limit of CPU time (ulimit -St).
    SignalRow{"the first one", {.signal = SIGXCPU, .phase = serving}, SignalAnswer::drain},
    SignalRow{"the kernel's next one",
              {.signal = SIGXCPU, .phase = serving, .asked = SIGXCPU, .since_first = 5s},
              SignalAnswer::ignore},
    SignalRow{"one after a signal of the user's",
              {.signal = SIGXCPU, .phase = serving, .asked = SIGTERM, .since_first = 5s},
              SignalAnswer::ignore},
    SignalRow{"a signal of the user's after it",
              {.signal = SIGTERM, .phase = serving, .asked = SIGXCPU, .since_first = 5s},
              SignalAnswer::end},

    // While a stop is under way that no signal has asked for.
    SignalRow{"Slurm's notice of the time limit",
              {.signal = SIGUSR1, .phase = serving, .asked = SIGUSR1, .reason = StopReason::time_limit},
              SignalAnswer::remember},
    SignalRow{"the same, to a run that was asked to drain",
              {.signal = SIGUSR1, .phase = serving, .asked = SIGUSR1, .reason = StopReason::drain_request},
              SignalAnswer::remember},
    SignalRow{
        "the notice again",
        {.signal = SIGUSR1, .phase = serving, .asked = SIGUSR1, .reason = StopReason::time_limit, .since_first = 10ms},
        SignalAnswer::ignore},
    SignalRow{
        "a signal long after the notice",
        {.signal = SIGUSR1, .phase = serving, .asked = SIGUSR1, .reason = StopReason::time_limit, .since_first = 5s},
        SignalAnswer::end},
    SignalRow{"a signal of the user's",
              {.signal = SIGTERM, .phase = serving, .asked = SIGUSR1, .reason = StopReason::drain_request},
              SignalAnswer::end},
};

TEST(AnswerSignal, IsForEachSituation) {
    for (const SignalRow& row : signals) {
        EXPECT_EQ(answer_signal(row.received), row.answer) << row.name;
    }
}

TEST(CauseOfEnd, IsWhatKeptARunFromItsOutput) {
    const Served stopped{.stop = {.signal = SIGTERM}};
    const Served too_long{.stop = {.signal = SIGTERM}, .gave_up = true};
    const Served without_rank{.stop = {.signal = SIGTERM}, .lost_rank = 2};

    EXPECT_EQ(cause_of_end({}, true, false), EndCause::done);
    EXPECT_EQ(cause_of_end(stopped, true, false), EndCause::done);
    EXPECT_EQ(cause_of_end(stopped, false, false), EndCause::drained);
    EXPECT_EQ(cause_of_end(too_long, false, false), EndCause::drain_too_long);
    EXPECT_EQ(cause_of_end(too_long, true, false), EndCause::drain_too_long);
    EXPECT_EQ(cause_of_end(without_rank, false, false), EndCause::rank_lost);
    EXPECT_EQ(cause_of_end(without_rank, false, true), EndCause::given_up);
}

struct EndRow {
    const char* name;
    EndFacts facts;
    Ending ending;
};

const std::array ends{
    // Rank 0's comm thread.
    EndRow{"a job that cannot be prepared",
           {.cause = EndCause::unprepared, .code = ExitCode::bad_data},
           {.code = ExitCode::bad_data, .is_said = true}},
    EndRow{"the same in a single process, whose caller says it",
           {.cause = EndCause::unprepared, .code = ExitCode::bad_data, .is_alone = true},
           {.code = ExitCode::bad_data}},
    EndRow{"done", {.cause = EndCause::done}, {.saves = Saves::output}},
    EndRow{"drained", {.cause = EndCause::drained}, {.code = ExitCode::stopped_early}},
    EndRow{
        "drained for too long", {.cause = EndCause::drain_too_long}, {.code = ExitCode::stopped_early, .aborts = true}},
    EndRow{"a rank that is silent while the run drains",
           {.cause = EndCause::rank_lost},
           {.code = ExitCode::internal, .notes_loss = true, .aborts = true}},
    EndRow{"a rank 0 that the others have given up",
           {.cause = EndCause::given_up},
           {.code = ExitCode::communication, .aborts = true}},
    EndRow{"rank 0's failure, or one that it was told",
           {.cause = EndCause::failure, .code = ExitCode::io_error},
           {.code = ExitCode::io_error}},
    EndRow{"a device's failure, which the next attempt counts as a death",
           {.cause = EndCause::failure, .code = ExitCode::internal, .is_of_device = true},
           {.code = ExitCode::internal, .notes_loss = true}},
    EndRow{"a device's failure that is none",
           {.cause = EndCause::failure, .code = ExitCode::gpu_fault, .is_of_device = true},
           {.code = ExitCode::gpu_fault}},

    // Another rank's comm thread.
    EndRow{"its failure",
           {.cause = EndCause::failure, .code = ExitCode::numeric, .is_root = false, .root_serves = true},
           {.code = ExitCode::numeric, .is_said = true, .tells_root = true}},
    EndRow{"its failure before rank 0 serves",
           {.cause = EndCause::failure, .code = ExitCode::numeric, .is_root = false},
           {.code = ExitCode::numeric, .is_said = true}},
    EndRow{"rank 0's word that it ends the job",
           {.cause = EndCause::root_ended, .code = ExitCode::io_error, .is_root = false},
           {.code = ExitCode::io_error}},
    EndRow{"a rank 0 that is silent while the run drains",
           {.cause = EndCause::root_lost, .is_root = false},
           {.code = ExitCode::internal, .is_said = true, .notes_loss = true}},

    // A watcher.
    EndRow{"a second signal",
           {.cause = EndCause::signal, .signal = SIGTERM, .phase = serving},
           {.code = ExitCode::stopped_early, .is_said = true, .notes_end = true}},
    EndRow{"a second SIGUSR1",
           {.cause = EndCause::signal, .signal = SIGUSR1, .phase = serving},
           {.code = ExitCode::stopped_early, .is_said = true, .notes_end = true}},
    EndRow{"SIGTERM before the first chunk",
           {.cause = EndCause::signal, .signal = SIGTERM, .phase = preparing},
           {.code = ExitCode::stopped_early, .is_said = true, .notes_end = true}},
    EndRow{"Slurm's SIGUSR1 to rank 0 before the first chunk",
           {.cause = EndCause::signal, .signal = SIGUSR1, .phase = preparing},
           {.code = ExitCode::stopped_early, .is_said = true, .notes_end = true, .saves = Saves::status}},
    EndRow{"a second SIGUSR1 to another rank that prepares",
           {.cause = EndCause::signal, .is_root = false, .signal = SIGUSR1, .phase = preparing},
           {.code = ExitCode::stopped_early, .is_said = true, .notes_end = true}},
    EndRow{"a death, at rank 0",
           {.cause = EndCause::death, .root_knows = true},
           {.code = ExitCode::internal, .is_said = true, .notes_loss = true, .saves = Saves::results}},
    EndRow{"a death, at another rank",
           {.cause = EndCause::death, .is_root = false, .root_knows = true},
           {.code = ExitCode::internal, .is_said = true, .waits_for_root = true}},
    EndRow{"rank 0's death, or one on a node without rank 0",
           {.cause = EndCause::death, .is_root = false},
           {.code = ExitCode::internal, .is_said = true, .notes_loss = true, .waits_for_root = true}},
    EndRow{"a hang, at rank 0",
           {.cause = EndCause::hang},
           {.code = ExitCode::communication, .is_said = true, .notes_loss = true, .saves = Saves::results}},
    EndRow{"a hang, at another rank",
           {.cause = EndCause::hang, .is_root = false},
           {.code = ExitCode::communication, .is_said = true, .notes_loss = true}},
    EndRow{"a hang that was told, at rank 0", {.cause = EndCause::told_hang}, {.code = ExitCode::communication}},
    EndRow{"a hang that was told, at another rank",
           {.cause = EndCause::told_hang, .is_root = false},
           {.code = ExitCode::communication, .waits_for_root = true}},
    EndRow{"a rank 0 of the node that is gone with a code",
           {.cause = EndCause::root_gone, .code = ExitCode::superseded, .is_root = false},
           {.code = ExitCode::superseded}},
};

TEST(DecideEnd, IsForEachCause) {
    for (const EndRow& row : ends) {
        EXPECT_EQ(decide_end(row.facts), row.ending) << row.name;
    }
}

TEST(CanGoOn, AfterWhatLeavesTheJobIntact) {
    for (const ExitCode code :
         {ExitCode::internal, ExitCode::out_of_memory, ExitCode::communication, ExitCode::gpu_fault}) {
        EXPECT_TRUE(can_go_on(code));
    }
    for (const ExitCode code : {ExitCode::bad_data, ExitCode::io_error, ExitCode::stopped_early, ExitCode::numeric,
                                ExitCode::no_progress, ExitCode::superseded}) {
        EXPECT_FALSE(can_go_on(code));
    }
}

}  // namespace
}  // namespace sluice
