#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "core/error.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/tools/doctor/sound_job.hpp"
#include "tools/doctor/output_facts.hpp"

namespace sluice {
namespace {

using test::only;
using test::sound;
using test::wrong;
using testing::HasSubstr;

TEST(DoctorMemory, FindsALimitOfLockedMemoryWhereAdaptersNeedIt) {
    DoctorFacts facts = sound(2);
    for (RankFacts& rank : facts.ranks) {
        rank.locked_bytes = 8U << 20U;
    }
    EXPECT_EQ(wrong(facts).size(), 0U) << "TCP locks nothing";

    for (RankFacts& rank : facts.ranks) {
        rank.fabrics = {"mlx5_0"};
        rank.transport.layer = "ucx";
    }
    const Finding finding = only(facts, "W-MEM-067");
    EXPECT_EQ(finding.what,
              "ranks 0-3 on 2 nodes: may lock 8.0 MiB of memory (ulimit -l), mlx5_0 needs it for every message");
    EXPECT_THAT(finding.remedy, HasSubstr("#SBATCH --propagate=NONE"));
}

TEST(DoctorNetwork, FindsAFabricThatMpiPassesBy) {
    DoctorFacts facts = sound(2);
    for (RankFacts& rank : facts.ranks) {
        rank.fabrics = {"mlx5_0"};
    }

    const Finding finding = only(facts, "W-MPI-140");

    EXPECT_EQ(finding.what, "ranks 0-3 on 2 nodes: MPI goes by TCP (eth0), although the node has mlx5_0");
    EXPECT_EQ(finding.remedy, "export OMPI_MCA_pml=ucx");
}

TEST(DoctorNetwork, FindsASlowNode) {
    DoctorFacts facts = sound(4);
    facts.links[1].bytes_per_second = 1e9;

    const Finding finding = only(facts, "W-MPI-141");

    EXPECT_EQ(finding.what, "n03: 1000 MB/s from rank 0, the usual node of this job 10000");
    EXPECT_EQ(finding.remedy, "#SBATCH --exclude=n03");
}

TEST(DoctorNetwork, FindsASlowNetwork) {
    DoctorFacts facts = sound(3);
    for (LinkSpeed& link : facts.links) {
        link.bytes_per_second = 100e6;
    }

    const Finding finding = only(facts, "W-MPI-141");

    EXPECT_EQ(finding.what, "100 MB/s between nodes, by eth0");
    EXPECT_THAT(finding.remedy, HasSubstr("export OMPI_MCA_btl_tcp_if_include="));
}

TEST(DoctorNetwork, DoesNotMeasureOneNodesMemoryByTheSameYard) {
    DoctorFacts facts = sound();
    facts.links = {{.to = 1, .latency_seconds = 1e-3, .bytes_per_second = 1e6}};

    EXPECT_EQ(wrong(facts).size(), 0U);
}

TEST(DoctorClocks, FindsTimesThatAreNotKnown) {
    DoctorFacts facts = sound(2);
    facts.ranks[3].clock_error_seconds = 5e-3;

    EXPECT_THAT(only(facts, "W-TRC-142").what, HasSubstr("rank 3 on n02: clocks are known within ± 5000 us only"));
}

TEST(DoctorClocks, FindsWallClocksThatAreApart) {
    DoctorFacts facts = sound(2);
    facts.ranks[2].wall_ahead_seconds = -90;

    const Finding finding = only(facts, "W-TRC-143");

    EXPECT_EQ(finding.what, "rank 2 on n02: the wall clock is 90 s apart from rank 0's");
    EXPECT_THAT(finding.remedy, HasSubstr("chrony"));
}

TEST(DoctorOutput, FindsAFolderThatNobodyCanWriteTo) {
    DoctorFacts facts = sound();
    facts.output->why_not = "nothing can be written there: Permission denied";

    const Finding finding = only(facts, "E-OUT-021");

    EXPECT_EQ(finding.code, ExitCode::cannot_create);
    EXPECT_EQ(finding.what, "/scratch: nothing can be written there: Permission denied");
}

TEST(DoctorOutput, FindsAFullFileSystem) {
    DoctorFacts bytes = sound();
    bytes.output->free_bytes = 1U << 20U;
    DoctorFacts files = sound();
    files.output->free_files = 0;

    EXPECT_EQ(only(bytes, "E-OUT-026").code, ExitCode::cannot_create);
    EXPECT_THAT(only(bytes, "E-OUT-026").what, HasSubstr("1.0 MiB"));
    EXPECT_THAT(only(files, "E-OUT-026").what, HasSubstr("no inode"));
}

TEST(DoctorOutput, FindsThatNoInodeIsFreeWhereForThatNoFileCanBeMade) {
    DoctorFacts facts = sound();
    facts.output->free_files = 0;

    const OutputMarker marker("/proc/labels.csv", *facts.output);  // nobody makes a file there

    EXPECT_EQ(marker.path(), "");
    EXPECT_THAT(only(facts, "E-OUT-026").what, HasSubstr("no inode"));
}

TEST(DoctorOutput, FindsMemoryInPlaceOfADisk) {
    DoctorFacts facts = sound();
    facts.output->file_system = "tmpfs";
    facts.output->in_memory = true;

    EXPECT_THAT(only(facts, "W-OUT-027").what, HasSubstr("/scratch: a tmpfs of the node's memory"));
}

TEST(DoctorOutput, FindsNodesThatDoNotSeeIt) {
    DoctorFacts facts = sound(2);
    facts.ranks[2].sees_output = facts.ranks[3].sees_output = false;

    const Finding finding = only(facts, "W-OUT-027");

    EXPECT_THAT(finding.what, HasSubstr("ranks 2-3 on n02: does not see /scratch of rank 0"));
    EXPECT_THAT(finding.remedy, HasSubstr("share"));
}

TEST(DoctorOutput, LooksAtARealFolder) {
    const TemporaryFolder folder;
    OutputFacts facts = look_at_output(folder.path() / "labels.csv");
    EXPECT_EQ(facts.why_not, "");
    EXPECT_GT(facts.free_bytes, 0U);
    std::string path;
    {
        const OutputMarker marker(folder.path() / "labels.csv", facts);
        path = marker.path();
        EXPECT_TRUE(std::filesystem::exists(path)) << path;
    }
    EXPECT_FALSE(std::filesystem::exists(path)) << "the marker goes when all have looked";

    OutputFacts missing = look_at_output(folder.path() / "none" / "labels.csv");
    EXPECT_THAT(missing.why_not, HasSubstr("No such file or directory"));
    EXPECT_EQ(OutputMarker(folder.path() / "none" / "labels.csv", missing).path(), "");
    EXPECT_TRUE(look_at_output("/dev/shm/labels.csv").in_memory);
}

TEST(DoctorOutput, LooksAtAFolderOfPartsItselfIfItIsThere) {
    const TemporaryFolder folder;
    const std::filesystem::path parts = folder.path() / "labels" / "";

    const OutputFacts before = look_at_output(parts);
    std::filesystem::create_directory(parts);
    const OutputFacts after = look_at_output(parts);

    EXPECT_EQ(before.folder, folder.path());
    EXPECT_EQ(after.folder, folder.path() / "labels");
}

}  // namespace
}  // namespace sluice
