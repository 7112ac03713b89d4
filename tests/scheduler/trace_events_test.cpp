#include "scheduler/trace_events.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

namespace sluice {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using testing::ElementsAre;
using testing::UnorderedElementsAre;

Instant at(std::chrono::nanoseconds time) {
    return Instant(time);
}

Interval from_to(std::chrono::nanoseconds begin, std::chrono::nanoseconds end) {
    return {at(begin), at(end)};
}

json parsed(const std::vector<std::string>& parts) {
    std::string text = TraceFile::begin({});
    for (const std::string& part : parts) {
        text += (part == parts.front() ? "" : std::string(TraceFile::between)) + part;
    }
    return json::parse(text + std::string(TraceFile::end));
}

/// By name.
std::map<std::string, std::vector<json>> tracks_in(const json& trace, int rank) {
    std::map<int, std::string> names;
    std::map<std::string, std::vector<json>> tracks;
    for (const json& event : trace.at("traceEvents")) {
        if (event.at("pid") == rank && event.at("name") == "thread_name") {
            names[event.at("tid")] = event.at("args").at("name");
        }
    }
    for (const json& event : trace.at("traceEvents")) {
        if (event.at("pid") == rank && event.at("ph") != "M") {
            tracks[names.at(event.at("tid"))].push_back(event);
        }
    }
    return tracks;
}

RankTrace trace_of(int rank) {
    RankTrace trace;
    trace.rank = rank;
    trace.host = "n07";
    trace.milestones = {.start = at(1ms), .finish = at(20ms)};
    trace.devices.emplace_back("host", 2);
    trace.devices[0].add({.chunk = {9, 90, 10}, .upload = from_to(2ms, 3ms), .compute = from_to(3'000'001ns, 5ms)});
    trace.devices[0].add({.chunk = {11, 110, 4}, .upload = from_to(3ms, 4ms), .compute = from_to(5ms, 6ms)});
    trace.phases.push_back({Phase::index, from_to(1ms, 2ms)});
    trace.threads.emplace_back("send", 2);
    trace.threads[0].add({.stage = Stage::scatter, .busy = from_to(1ms, 4ms), .items = 10, .bytes = 1440});
    trace.threads[0].add({.stage = Stage::scatter, .busy = from_to(2ms, 6ms), .items = 4, .bytes = 576});
    return trace;
}

TEST(TraceEvents, AreATrackForEachStageThreadAndPhase) {
    const json trace = parsed({trace_events(trace_of(3), at(1ms), 100)});

    const auto tracks = tracks_in(trace, 3);
    std::set<std::string> names;
    for (const auto& [name, events] : tracks) {
        names.insert(name);
    }
    EXPECT_THAT(names, UnorderedElementsAre("phases", "device 0 (host): upload", "device 0 (host): compute", "send"));
    const std::vector<json>& compute = tracks.at("device 0 (host): compute");
    ASSERT_EQ(compute.size(), 2U);
    EXPECT_EQ(compute[0].at("ph"), "X");
    EXPECT_EQ(compute[0].at("name"), "compute");
    EXPECT_EQ(compute[0].at("cat"), "compute");
    EXPECT_DOUBLE_EQ(compute[0].at("ts"), 2000.001) << "microseconds since the origin";
    EXPECT_DOUBLE_EQ(compute[0].at("dur"), 1999.999);
    EXPECT_EQ(compute[0].at("args"), json::parse(R"({"chunk": 9, "items": 10})"));
    EXPECT_EQ(compute[1].at("args").at("chunk"), 11);
}

TEST(TraceEvents, AreAsynchronousWhereSpansOverlap) {
    const json trace = parsed({trace_events(trace_of(3), at(1ms), 100)});

    const std::vector<json> sent = tracks_in(trace, 3).at("send");
    ASSERT_EQ(sent.size(), 4U);
    EXPECT_EQ(sent[0].at("ph"), "b");
    EXPECT_EQ(sent[1].at("ph"), "e");
    EXPECT_EQ(sent[0].at("id"), sent[1].at("id"));
    EXPECT_NE(sent[0].at("id"), sent[2].at("id"));
    EXPECT_DOUBLE_EQ(sent[1].at("ts"), 3000);
    EXPECT_EQ(sent[0].at("args"), json::parse(R"({"items": 10, "bytes": 1440})"));
}

TEST(TraceEvents, OfADeviceThatOverlapTellItFromOthers) {
    RankTrace trace;
    for (const char* const name : {"host", "spare"}) {
        trace.devices.emplace_back(name, 2);
        trace.devices.back().add({.chunk = {0, 0, 10}, .scatter = from_to(1ms, 4ms)});
        trace.devices.back().add({.chunk = {1, 10, 10}, .scatter = from_to(2ms, 5ms)});
    }
    trace.phases.push_back({Phase::index, from_to(1ms, 3ms)});
    trace.phases.push_back({Phase::weights, from_to(2ms, 4ms)});

    const auto tracks = tracks_in(parsed({trace_events(trace, at(0s), 100)}), 0);

    EXPECT_EQ(tracks.at("device 0 (host): scatter")[0].at("name"), "device 0 (host): scatter");
    EXPECT_EQ(tracks.at("device 1 (spare): scatter")[0].at("name"), "device 1 (spare): scatter");
    EXPECT_EQ(tracks.at("device 1 (spare): scatter")[0].at("cat"), "scatter");
    EXPECT_EQ(tracks.at("phases")[0].at("name"), "index");
    EXPECT_EQ(tracks.at("phases")[2].at("name"), "weights");
}

TEST(TraceEvents, BeginAtTheOrigin) {
    RankTrace trace;
    trace.phases.push_back({Phase::launch, from_to(1ms, 5ms)});

    const json launch = tracks_in(parsed({trace_events(trace, at(2ms), 100)}), 0).at("phases").at(0);

    EXPECT_DOUBLE_EQ(launch.at("ts"), 0);
    EXPECT_DOUBLE_EQ(launch.at("dur"), 3000);
}

TEST(TraceEvents, OfRanksStandSideBySide) {
    RankTrace other = trace_of(4);
    other.host = "a\"b\\\x1b\n\xff";

    const json trace = parsed({trace_events(trace_of(3), at(0s), 100), trace_events(other, at(0s), 100)});

    std::vector<std::string> processes;
    for (const json& event : trace.at("traceEvents")) {
        if (event.at("name") == "process_name") {
            processes.push_back(event.at("args").at("name"));
        }
    }
    EXPECT_THAT(processes, ElementsAre("rank 3 on n07", testing::StartsWith("rank 4 on a")));
    EXPECT_EQ(tracks_in(trace, 3).size(), tracks_in(trace, 4).size());
    EXPECT_TRUE(is_trace(TraceFile::begin({})));
    EXPECT_FALSE(is_trace("{\"traceEvents\": []}"));
}

TEST(TraceEvents, LeaveTheMiddleOfALongTrackOutAndSayHowMuch) {
    RankTrace long_one;
    long_one.devices.emplace_back("host", 1000);
    for (std::uint64_t i = 0; i < 1000; ++i) {
        long_one.devices[0].add(
            {.chunk = {i, i, 1}, .compute = from_to(std::chrono::microseconds(i), std::chrono::microseconds(i + 1))});
    }

    const json trace = parsed({trace_events(long_one, at(0s), 10)});

    const auto tracks = tracks_in(trace, 0);
    std::vector<int> chunks;
    for (const json& event : tracks.at("device 0 (host): compute")) {
        chunks.push_back(event.at("args").at("chunk"));
    }
    EXPECT_THAT(chunks, ElementsAre(0, 1, 2, 3, 4, 995, 996, 997, 998, 999));
    EXPECT_THAT(trace.dump(), testing::HasSubstr("990 spans of the middle are left out"));
}

TEST(TraceEvents, LeaveNothingOutWhereTheyFitTogether) {
    RankTrace trace;
    trace.devices.emplace_back("host", 80);
    for (std::uint64_t i = 0; i < 80; ++i) {
        trace.devices[0].add(
            {.chunk = {i, i, 1}, .compute = from_to(std::chrono::microseconds(i), std::chrono::microseconds(i + 1))});
    }
    trace.phases.push_back({Phase::index, from_to(0s, 1us)});

    const json all = parsed({trace_events(trace, at(0s), 81)});
    const json cut = parsed({trace_events(trace, at(0s), 41)});

    EXPECT_EQ(tracks_in(all, 0).at("device 0 (host): compute").size(), 80U);
    EXPECT_THAT(all.dump(), testing::Not(testing::HasSubstr("left out")));
    EXPECT_EQ(tracks_in(cut, 0).at("device 0 (host): compute").size(), 40U);
    EXPECT_EQ(tracks_in(cut, 0).at("phases").size(), 1U);
    EXPECT_THAT(cut.dump(), testing::HasSubstr("40 spans of the middle are left out"));
}

TEST(TraceEvents, HaveWhatReadersAskOfEveryEvent) {
    const json trace = parsed({trace_events(trace_of(3), at(1ms), 100)});

    for (const json& event : trace.at("traceEvents")) {
        for (const char* const key : {"ph", "cat", "name", "pid", "tid", "ts"}) {
            EXPECT_TRUE(event.contains(key)) << key << ": " << event;
        }
    }
}

TEST(TraceEvents, OfARankWithoutWorkAreItsName) {
    const json trace = parsed({trace_events({}, at(0s), 100)});

    EXPECT_TRUE(tracks_in(trace, 0).empty());
    EXPECT_FALSE(trace.at("traceEvents").empty());
}

TEST(TraceEvents, OfAllRanksFitAFile) {
    EXPECT_GE(most_spans_of_rank(1), 100'000U);
    EXPECT_GE(most_spans_of_rank(100'000), 1000U);
    EXPECT_LE(400 * most_spans_of_rank(400), 4'000'000U);
}

TEST(TraceFile, ShowsFactsOfTheRun) {
    const std::vector<std::pair<std::string, std::string>> facts{{"app", "echo"}, {"output", "a \"b\""}};

    const json trace = json::parse(TraceFile::begin(facts) + std::string(TraceFile::end));

    EXPECT_EQ(trace.at("otherData"), json::parse(R"({"format": "sluice trace", "app": "echo", "output": "a \"b\""})"));
}

}  // namespace
}  // namespace sluice
