#include "tests/layers/include_rules.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

const std::filesystem::path rules_root = SLUICE_SOURCE_DIR;

bool in_project(const std::string& path) {
    return std::filesystem::is_regular_file(rules_root / path);
}

/// What is wrong with the one line `text` in `file`, in a project that has every file.
std::string violation_in(const std::string& file, const std::string& text) {
    const std::vector<Include> includes = includes_of(file, text);
    EXPECT_THAT(includes, SizeIs(1)) << text;
    return includes.empty() ? "" : violation_of(includes.front(), [](const std::string&) { return true; });
}

TEST(Layers, HoldInEverySourceOfTheProject) {
    const std::vector<std::string> sources = sources_under(rules_root);

    std::vector<std::string> violations;
    std::size_t includes = 0;
    for (const std::string& source : sources) {
        for (const Include& include : includes_of(source, text_of(rules_root / source))) {
            ++includes;
            if (std::string violation = violation_of(include, in_project); !violation.empty()) {
                violations.push_back(std::move(violation));
            }
        }
    }

    EXPECT_THAT(violations, IsEmpty());
    EXPECT_GT(sources.size(), 100U) << "the sources were not found under " << rules_root;
    EXPECT_GT(includes, sources.size()) << "the includes were not found";
}

TEST(Layers, RefuseAnIncludeUpwards) {
    EXPECT_EQ(violation_in("core/event.cpp", "#include \"comm/wire.hpp\"\n"),
              "core/event.cpp:1: includes \"comm/wire.hpp\", but core may include core only");
    EXPECT_THAT(violation_in("kernels/host/linear.cpp", "#include \"apps/registry.hpp\""), HasSubstr("kernels may"));
    EXPECT_THAT(violation_in("apps/registry.cpp", "#include \"tools/runtime/run_job.hpp\""), HasSubstr("apps may"));
    EXPECT_THAT(violation_in("comm/serve.cpp", "#include \"tests/support/fake_job.hpp\""), HasSubstr("comm may"));
}

TEST(Layers, RefuseAnIncludeSideways) {
    EXPECT_THAT(violation_in("scheduler/pipeline.cpp", "#include \"comm/endpoint.hpp\""), HasSubstr("scheduler may"));
    EXPECT_THAT(violation_in("comm/serve.cpp", "  #  include   \"scheduler/pipeline.hpp\""), HasSubstr("comm may"));
    EXPECT_THAT(violation_in("slurm/script.cpp", "#include \"kernels/kernels.hpp\""), HasSubstr("slurm may"));
    EXPECT_THAT(violation_in("apps/registry.cpp", "#include \"scheduler/slot.hpp\""), HasSubstr("apps may"));
}

TEST(Layers, RefuseAnIncludeOfALaterRoom) {
    EXPECT_EQ(
        violation_in("core/input/framing.cpp", "#include \"core/output/row_encoder.hpp\""),
        "core/input/framing.cpp:1: includes \"core/output/row_encoder.hpp\", but core/input comes before it: a room "
        "includes only rooms before it");
    EXPECT_THAT(violation_in("core/event.hpp", "#include \"core/sync/spin.hpp\""), HasSubstr("comes before it"));
    EXPECT_THAT(violation_in("tools/runtime/run_job.cpp", "#include \"tools/cli/main.hpp\""),
                HasSubstr("comes before it"));
    EXPECT_THAT(violation_in("core/attic/x.cpp", "#include \"core/clock.hpp\""), HasSubstr("does not have"));
    EXPECT_EQ(violation_in("core/commit/file.cpp", "#include \"core/input/framing.hpp\""), "");
    EXPECT_EQ(violation_in("kernels/cuda/ordered/x.cu", "#include \"kernels/cuda/generator/x.cuh\""),
              "kernels/cuda/ordered/x.cu:1: includes \"kernels/cuda/generator/x.cuh\", but kernels/cuda/ordered comes "
              "before it: a room includes only rooms before it");
    EXPECT_THAT(violation_in("kernels/cuda/attic/x.cu", "#include \"kernels/cuda/gemm/x.cuh\""),
                HasSubstr("does not have"));
    EXPECT_THAT(violation_in("kernels/cuda/x.cu", "#include \"kernels/cuda/decoder/x.hpp\""),
                HasSubstr("comes before it"));
    EXPECT_EQ(violation_in("kernels/cuda/gemm/x.cu", "#include \"kernels/cuda/x.cuh\""), "");
}

TEST(Layers, RefuseAnIncludeOfALaterRoomWithinARoom) {
    EXPECT_EQ(violation_in("kernels/cuda/decoder/plan/x.cu", "#include \"kernels/cuda/decoder/choice/x.cuh\""),
              "kernels/cuda/decoder/plan/x.cu:1: includes \"kernels/cuda/decoder/choice/x.cuh\", but "
              "kernels/cuda/decoder/plan comes before it: a room includes only rooms before it");
    EXPECT_THAT(violation_in("kernels/cuda/decoder/rows/x.cu", "#include \"kernels/cuda/generator/x.cuh\""),
                HasSubstr("kernels/cuda/decoder comes before it"));
    EXPECT_THAT(violation_in("kernels/cuda/decoder/product/x.cu", "#include \"kernels/cuda/decoder/x.hpp\""),
                HasSubstr("comes before it"));
    EXPECT_EQ(violation_in("kernels/cuda/decoder/x.cpp", "#include \"kernels/cuda/decoder/prompts/x.hpp\""), "");
    EXPECT_EQ(violation_in("kernels/cuda/decoder/prompts/x.cu", "#include \"kernels/cuda/decoder/plan/x.hpp\""), "");
    EXPECT_EQ(violation_in("kernels/cuda/generator/x.cpp", "#include \"kernels/cuda/decoder/product/x.hpp\""), "");
}

TEST(Layers, RefuseAnIncludeOfOneBackendByWhoServesAll) {
    EXPECT_EQ(violation_in("apps/classifier/one_hot.cpp", "#include \"kernels/host/aligned.hpp\""),
              "apps/classifier/one_hot.cpp:1: includes \"kernels/host/aligned.hpp\", which belongs to kernels/host/, "
              "kernels/kernels.cpp, tests/kernels/, tests/support/host_precisions.hpp, tools/bench/");
    EXPECT_THAT(violation_in("tools/runtime/run_root.cpp", "#include \"kernels/cuda/x.hpp\""), HasSubstr("belongs to"));
    EXPECT_THAT(violation_in("kernels/cuda/x.cu", "#include \"kernels/host/x.hpp\""), HasSubstr("belongs to"));
    EXPECT_EQ(violation_in("kernels/kernels.cpp", "#include \"kernels/host/host_kernels.hpp\""), "");
}

TEST(Layers, AllowAnIncludeDownwards) {
    EXPECT_EQ(violation_in("tools/runtime/run_root.cpp", "#include \"comm/serve.hpp\""), "");
    EXPECT_EQ(violation_in("apps/registry.cpp", "#include \"kernels/kernels.hpp\""), "");
    EXPECT_EQ(violation_in("comm/serve.cpp", "#include \"comm/serve.hpp\""), "");
}

TEST(Layers, RefuseAnOutsidePackageOutsideItsFiles) {
    EXPECT_EQ(violation_in("core/event.cpp", "\n#include <mpi.h>\n"),
              "core/event.cpp:2: includes <mpi.h>, which belongs to comm/, tests/comm/");
    for (const auto* line : {"#include <mpi.h>", "#include <hwloc.h>", "#include <toml++/toml.h>",
                             "#include <boost/program_options.hpp>", "#include <cuda_runtime.h>",
                             "#include <oneapi/dnnl/dnnl.hpp>", "#include <dnnl.hpp>", "#include <gtest/gtest.h>"}) {
        EXPECT_THAT(violation_in("scheduler/pipeline.cpp", line), HasSubstr("belongs to")) << line;
    }
    EXPECT_THAT(violation_in("tools/cli/main.cpp", "#include <boost/asio.hpp>"), HasSubstr("no file"));
}

TEST(Layers, AllowAnOutsidePackageInItsFiles) {
    EXPECT_EQ(violation_in("comm/mpi_session.hpp", "#include <mpi.h>"), "");
    EXPECT_EQ(violation_in("core/config/config.cpp", "#include <toml++/toml.h>"), "");
    EXPECT_EQ(violation_in("kernels/cuda/linear.cu", "#include <cublasLt.h>"), "");
    EXPECT_EQ(violation_in("core/event.cpp", "#include <vector>"), "");
}

TEST(Layers, RefuseAnIncludeThatIsNotNamedFromTheRoot) {
    const std::vector<Include> includes = includes_of("core/event.cpp", "#include \"event.hpp\"\n");
    ASSERT_THAT(includes, SizeIs(1));

    const std::string violation = violation_of(includes.front(), in_project);

    EXPECT_THAT(violation, HasSubstr("named from its root"));
}

TEST(Layers, PassOverIncludesInComments) {
    EXPECT_THAT(includes_of("core/event.cpp", "// #include <mpi.h>\n/// #include \"comm/serve.hpp\"\n"), IsEmpty());
}

}  // namespace
}  // namespace sluice
