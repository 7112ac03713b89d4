#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.hpp"
#include "tests/tools/doctor/sound_job.hpp"

namespace sluice {
namespace {

using test::only;
using test::sound;
using test::sound_host;
using test::wrong;
using testing::HasSubstr;

TEST(DoctorGpus, FindsRanksOnOneGpu) {
    DoctorFacts facts = sound();
    for (RankFacts& rank : facts.ranks) {
        rank.seen = {"GPU-10"};
        rank.gpus = {facts.ranks[0].gpus[0]};
    }

    const Finding finding = only(facts, "W-GPU-136");

    EXPECT_EQ(finding.what, "ranks 0-1 on n01: share GPU 10:00.0");
    EXPECT_EQ(finding.remedy, "#SBATCH --ntasks-per-node=1");
}

TEST(DoctorGpus, TellsTheSameGpuOfTwoNodesApart) {
    DoctorFacts facts = sound(2);
    facts.ranks[2].gpus[0].id = facts.ranks[0].gpus[0].id;

    EXPECT_EQ(wrong(facts).size(), 0U);
}

TEST(DoctorGpus, FindsAGpuThatNobodyDrives) {
    DoctorFacts facts = sound();
    facts.ranks[0].seen.push_back("GPU-12");

    EXPECT_EQ(only(facts, "W-GPU-137").what, "ranks 0-1 on n01: none drives GPU-12");
    EXPECT_EQ(only(facts, "W-GPU-137").remedy, "#SBATCH --ntasks-per-node=3");

    facts.wish.devices = 1;  // on purpose
    EXPECT_EQ(wrong(facts).size(), 0U);
}

TEST(DoctorGpus, FindsAFarGpuAndWhatKeepsItFar) {
    DoctorFacts facts = sound();
    GpuFacts& gpu = facts.ranks[1].gpus[0];
    gpu.is_near = false;
    gpu.near = "0-3";

    const Finding masked = only(facts, "W-GPU-138");
    EXPECT_EQ(masked.what, "rank 1 on n01: GPU 11:00.0 is attached to CPUs 0-3, but its driver runs on CPUs 4-7");
    EXPECT_EQ(masked.remedy, "srun --cpu-bind=none");

    gpu.near = "64-127";  // outside of the cgroup
    EXPECT_EQ(only(facts, "W-GPU-138").remedy, "#SBATCH --exclusive");

    facts.ranks[1].seen = {"GPU-11"};  // it could not choose
    facts.slurm = SlurmVersion{22, 5};
    EXPECT_EQ(only(facts, "W-GPU-138").remedy, "#SBATCH --gpus-per-node=2 in place of --gpus-per-task and --gpu-bind");
    facts.slurm = SlurmVersion{24, 5};
    EXPECT_THAT(only(facts, "W-GPU-138").remedy, HasSubstr("srun --tres-bind=gres/gpu:none"));
}

TEST(DoctorGpus, SaysOnceWhatHoldsOnEveryNode) {
    DoctorFacts facts = sound(100);
    for (RankFacts& rank : facts.ranks) {
        rank.gpus[0].is_near = rank.rank % 2 == 0;
        rank.gpus[0].near = "0-3";
    }

    EXPECT_THAT(only(facts, "W-GPU-138").what, HasSubstr("on 100 nodes: GPU 11:00.0 is attached to CPUs 0-3"));
}

TEST(DoctorGpus, FindsFewerThanTheJobWants) {
    DoctorFacts facts = sound();
    facts.wish.devices = 4;

    const Finding finding = only(facts, "E-GPU-062");

    EXPECT_EQ(finding.code, ExitCode::configuration);
    EXPECT_EQ(finding.what, "ranks 0-1 on n01: sees 2 GPUs, but run.devices = 4");
    EXPECT_EQ(finding.remedy, "#SBATCH --gpus-per-node=4");
}

TEST(DoctorGpus, SaysWhatKeptARankFromItsGpu) {
    DoctorFacts facts = sound();
    for (RankFacts& rank : facts.ranks) {
        rank.gpus.clear();
        rank.seen.clear();
        rank.failure = {.id = "E-GPU-061", .where = "run.device", .what = "no GPU is in sight", .hint = "get one"};
        rank.failure_code = 69;
    }

    const Finding finding = only(facts, "E-GPU-061");

    EXPECT_EQ(finding.code, ExitCode::unavailable);
    EXPECT_EQ(finding.what, "ranks 0-1 on n01: no GPU is in sight");
    EXPECT_EQ(finding.remedy, "#SBATCH --gpus-per-node=1");
}

TEST(DoctorGpus, FindsAMachineWhoseGpusARunLeavesIdle) {
    DoctorFacts facts = sound_host();
    facts.wish.device = DeviceKind::automatic;
    for (RankFacts& rank : facts.ranks) {
        rank.why_no_cuda = "built without CUDA";
    }
    EXPECT_EQ(only(facts, "W-GPU-135").what,
              "ranks 0-1 on n01: 2 GPUs on the bus of a node, but a run computes on the host: built without CUDA");
    EXPECT_EQ(only(facts, "W-GPU-135").remedy, "build with the preset 'cuda'");

    facts.ranks[0].why_no_cuda = "no CUDA-capable device is detected";
    EXPECT_EQ(only(facts, "W-GPU-135").remedy, "#SBATCH --gpus-per-node=2");
}

TEST(DoctorGpus, FindsSeveralModels) {
    DoctorFacts facts = sound(2);
    facts.ranks[2].gpus[0].name = facts.ranks[3].gpus[0].name = "NVIDIA A100";

    const Finding finding = only(facts, "W-GPU-064");

    EXPECT_EQ(finding.what, "GPUs of several models: NVIDIA A100 (ranks 2-3 on n02), NVIDIA H200 (ranks 0-1 on n01)");
    EXPECT_THAT(finding.remedy, HasSubstr("#SBATCH --gpus-per-node=TYPE:N"));
}

TEST(DoctorGpus, FindsSlowCopies) {
    DoctorFacts facts = sound(2);
    facts.ranks[3].gpus[0].copies.pinned_down = 6e9;

    const Finding finding = only(facts, "W-GPU-139");

    EXPECT_EQ(finding.what, "rank 3 on n02: GPU 11:00.0 copies 6.0 GB/s, the usual GPU of this job 50.0");
    EXPECT_EQ(finding.remedy, "#SBATCH --exclude=n02");
}

}  // namespace
}  // namespace sluice
