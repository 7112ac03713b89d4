#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "core/error.hpp"
#include "tests/tools/doctor/sound_job.hpp"
#include "tools/doctor/diagnose.hpp"
#include "tools/doctor/gather.hpp"
#include "tools/doctor/report.hpp"

namespace sluice {
namespace {

using test::sound;
using test::sound_host;
using test::sound_rank;
using test::wrong;
using testing::HasSubstr;

TEST(Doctor, FindsNothingInASoundJob) {
    for (const DoctorFacts& facts : {sound(), sound(3), sound_host()}) {
        const std::vector<Finding> findings = diagnose(facts);

        EXPECT_EQ(wrong(facts).size(), 0U) << doctor_text(facts, findings);
        EXPECT_EQ(code_of(findings), ExitCode::ok);
        std::vector<std::string_view> topics;
        std::ranges::transform(findings, std::back_inserter(topics), &Finding::topic);
        EXPECT_THAT(topics, testing::ElementsAre("launch", "cores", "gpus", "memory", "network", "clocks", "output"));
    }
}

TEST(DoctorReport, HasALineAFindingAndTheirNumbers) {
    DoctorFacts facts = sound(2);
    facts.launch.nodes = 3;
    facts.output->why_not = "nothing can be written there: Permission denied";
    const std::vector<Finding> findings = diagnose(facts);

    const std::string text = doctor_text(facts, findings);

    EXPECT_THAT(text, HasSubstr("Slurm 23.11, job 4711\n"));
    EXPECT_THAT(text, HasSubstr("warning  launch   W-SLM-130: "));
    EXPECT_THAT(text, HasSubstr("; fix: srun --mpi=pmix --nodes=3 sluice …\n"));
    EXPECT_THAT(text, HasSubstr("error    output   E-OUT-021: "));
    EXPECT_TRUE(text.ends_with("1 error, 1 warning\n")) << text;
    EXPECT_EQ(code_of(findings), ExitCode::cannot_create);
}

TEST(DoctorReport, TellsTheWorstOfAllRanks) {
    DoctorFacts facts = sound(3);
    facts.ranks[0].gpus[0].copies.pinned_down = 40e9;
    facts.links[0].latency_seconds = 9e-6;
    facts.output->free_files = UINT64_MAX;

    const std::string text = doctor_text(facts, diagnose(facts));

    EXPECT_THAT(text, HasSubstr("6 ranks on 3 nodes, started by srun\n"));
    EXPECT_THAT(text, HasSubstr("copies 40.0 GB/s pinned at least"));
    EXPECT_THAT(text, HasSubstr("rank 0 to 2 others at worst: 9.0 us"));
    EXPECT_THAT(doctor_text(sound(), diagnose(sound())), HasSubstr("2 ranks on n01, started by srun\n"));
    EXPECT_TRUE(nlohmann::json::parse(doctor_json(facts, {})).at("output").at("free_files").is_null());
}

TEST(DoctorReport, HasNoLineWithoutAWord) {
    DoctorFacts alone = sound_host();
    alone.launch = {};
    alone.world = 1;
    alone.ranks.resize(1);

    for (const Finding& finding : diagnose(alone)) {
        EXPECT_NE(finding.what, "") << finding.topic;
    }
}

TEST(DoctorReport, IsJsonWithFindingsAndFacts) {
    DoctorFacts facts = sound(2);
    facts.ranks[1].host = "n\xff";

    const nlohmann::json json = nlohmann::json::parse(doctor_json(facts, diagnose(facts)));

    EXPECT_EQ(json.at("findings").size(), 7U);
    EXPECT_EQ(json.at("ranks").size(), 4U);
    EXPECT_EQ(json.at("ranks")[3].at("gpus")[0].at("name"), "NVIDIA H200");
    EXPECT_EQ(json.at("links")[0].at("to"), 2);
    EXPECT_TRUE(json.at("ranks")[0].at("memory_bytes").is_null());
    EXPECT_EQ(json.at("output").at("folder"), "/scratch");
    EXPECT_EQ(json.at("slurm"), "23.11");
}

TEST(DoctorFacts, SurviveTheWayToRankZero) {
    RankFacts facts = sound_rank(3, 2);
    facts.failure = {.id = "E-GPU-066", .what = "too little"};
    facts.fabrics = {"mlx5_0"};
    facts.why_unbindable = "why";
    facts.wall_ahead_seconds = -2.5;
    facts.sees_output = false;
    facts.locked_bytes = 8U << 20U;

    const RankFacts back = decode_rank_facts(encode(facts));

    EXPECT_EQ(encode(back), encode(facts));
    EXPECT_EQ(back.gpus.at(0).copies.pinned_up, 50e9);
    EXPECT_EQ(back.locked_bytes, 8U << 20U);
    EXPECT_EQ(back.memory_bytes, std::nullopt);
    EXPECT_EQ(back.failure.id, "E-GPU-066");
}

TEST(SlurmVersionText, IsReadFromWhatSrunPrints) {
    EXPECT_EQ(parse_slurm_version("slurm 23.11.4\n"), (SlurmVersion{23, 11}));
    EXPECT_EQ(parse_slurm_version("slurm-wlm 22.05.8"), (SlurmVersion{22, 5}));
    EXPECT_EQ(parse_slurm_version("slurm 26.05.0-0rc1"), (SlurmVersion{26, 5}));
    EXPECT_EQ((SlurmVersion{22, 5}).text(), "22.05");
    EXPECT_LT((SlurmVersion{21, 8}), (SlurmVersion{22, 5}));
    for (const char* text : {"", "slurm", "slurm ", "slurm x", "slurm 22", "srun 22.05", "slurm 22.", "slurm 22-05",
                             "slurm 99999999999.1"}) {
        EXPECT_EQ(parse_slurm_version(text), std::nullopt) << text;
    }
}

}  // namespace
}  // namespace sluice
