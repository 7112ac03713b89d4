#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "tests/core/config/config_jobs.hpp"

namespace sluice {
namespace {

SlurmConfig random_slurm(std::mt19937_64& random) {
    const auto below = [&](std::uint64_t end) { return random() % end; };
    const auto seconds = [&](std::uint64_t most) { return std::chrono::seconds(1 + below(most)); };
    SlurmConfig slurm;
    using Slurm = SlurmConfig;
    for (std::string Slurm::*name :
         {&Slurm::job_name, &Slurm::partition, &Slurm::account, &Slurm::qos, &Slurm::constraint, &Slurm::reservation,
          &Slurm::nodelist, &Slurm::exclude, &Slurm::mail_user, &Slurm::mail_type, &Slurm::gpu_type, &Slurm::mpi}) {
        if (below(2) == 1) {
            slurm.*name = std::array{"a", "B.9", "x-y_z"}[below(3)];
        }
    }
    slurm.mem = std::array{"site", "0", "480G"}[below(3)];
    if (below(2) == 1) {
        slurm.time = seconds(31'536'000);
    }
    slurm.nodes = static_cast<std::uint32_t>(1 + below(65'536));
    slurm.exclusive = below(2) == 1;
    slurm.gpu_request = GpuRequest(below(3));
    slurm.launcher = JobLauncher(below(2));
    slurm.comment = below(2) == 1;
    slurm.environment.assign(below(3), "UCX_TLS");
    slurm.skip.assign(below(3), "exclusive");
    slurm.extra.assign(below(3), "--switches=1@00:30:00");
    slurm.resume = {ResumeMode(below(3)), static_cast<std::uint32_t>(below(1001)), std::nullopt};
    if (below(2) == 1) {
        slurm.resume.notice = seconds(65'535);
    }
    return slurm;
}

AppSettings random_settings(std::mt19937_64& random, const std::string& path) {
    const auto below = [&](std::uint64_t end) { return random() % end; };
    AppSettings settings;
    settings.set("generate.greedy", below(2) == 1);
    settings.set("generate.seed", random() >> (1 + below(63)));
    settings.set("generate.temperature",
                 std::array{0.0, 2.0, 1e-300, static_cast<double>(below(1'000'000)) / 777'777}[below(4)]);
    settings.set("generate.mode", std::string(std::array{"sample", "beam"}[below(2)]));
    settings.set("generate.limit", below(2) == 1 ? SettingValue(std::string("auto")) : SettingValue(1 + below(99)));
    settings.set("generate.stop", std::vector<std::string>(below(3), "\n\"\\"));
    settings.set("generate.pause", std::chrono::seconds(below(3600)));
    if (below(2) == 1) {
        settings.set("generate.prefixes", std::filesystem::path(path));
    }
    return settings;
}

JobConfig random_job(std::mt19937_64& random) {
    const auto below = [&](std::uint64_t end) { return random() % end; };
    const auto word = [&](const std::string& extension) {
        static const std::vector<std::string> pieces{"a", "\"", "\\",   "'",    " ", "=",  "#",
                                                     "[", "é",  "\x01", "\x7f", "💧", "..", "/"};
        std::string text = "w";
        for (std::uint64_t i = below(12); i > 0; --i) {
            text += pieces[below(pieces.size())];
        }
        text += "z";
        text += extension;
        return text;
    };
    JobConfig job;
    job.app = apps[below(apps.size())].app;
    job.input.paths = {word("in")};
    job.input.format = InputFormat(below(6));
    if (job.input.format == InputFormat::csv) {
        job.input.header = below(2) == 1;
        for (std::uint64_t i = below(4); i > 0; --i) {
            job.input.columns.emplace_back(static_cast<std::uint32_t>(1 + below(65'536)));
        }
        if (job.input.header) {
            job.input.columns.emplace_back(word(""));
        }
    } else if (job.input.format == InputFormat::jsonl) {
        job.input.columns.emplace_back(word(""));
    }
    job.input.allow_empty = below(2) == 1;
    if (below(2) == 1 && job.input.format < InputFormat::npy) {
        job.input.count = 2 + below(std::uint64_t{1} << 40);
    } else if (below(4) == 0) {
        job.input = {};
        job.input.count = 1 + below(100);
    }
    if (below(2) == 1) {
        job.model.weights = word("weights");
    } else {
        job.model.random = random() >> (1 + below(63));
    }
    job.output.format = OutputFormat(below(4));
    job.output.path = word(std::array{".csv", ".jsonl", ".npy", ".txt"}[std::size_t(job.output.format)]);
    if (job.app == "classifier") {
        job.settings.set("output.scores", below(2) == 1);
    } else if (job.app == "namegen") {
        job.settings = random_settings(random, word("txt"));
    } else {
        job.settings = default_settings(gpt2_keys);
    }
    job.output.nonfinite = NonfinitePolicy(below(3));
    job.fault.drain_timeout = std::chrono::seconds(1 + below(86'400));
    job.fault.hang_timeout = std::chrono::seconds(below(86'400));
    job.fault.max_failed_items = static_cast<std::uint32_t>(below(1000));
    job.output.report = word("report");
    const auto maybe = [&](std::uint64_t most) {
        return below(2) == 1 ? std::nullopt : std::optional(static_cast<std::uint32_t>(1 + below(most)));
    };
    job.run = {DeviceKind(below(3)), Precision(below(3)), maybe(1024)};
    job.pipeline = {PipelineMode(below(2)), Distribution(below(2)), Scatter(below(2)), maybe(1'048'576), maybe(1024)};
    if (job.pipeline.mode == PipelineMode::serial && job.pipeline.depth) {
        job.pipeline.depth = 1;
    }
    job.layout = {BindMode(below(3)), static_cast<std::uint32_t>(below(1025)), maybe(4096), maybe(4096)};
    job.slurm = random_slurm(random);
    return job;
}

TEST(ToToml, ReadsBackToTheSameJob) {
    std::mt19937_64 random(20261120);

    for (int i = 0; i < 2'000; ++i) {
        const JobConfig job = random_job(random);
        const std::string text = to_toml(job);
        ASSERT_EQ(parse(text), job) << text;
    }
}

TEST(Config, SurvivesEveryTruncationAndAnyByte) {
    std::mt19937_64 random(1);
    const std::string whole = to_toml(random_job(random));

    const auto survives = [](const std::string& text) {
        try {
            (void)parse(text);
        } catch (const Error& error) {
            EXPECT_FALSE(error.text().id.empty());
        }
    };

    for (std::size_t size = 0; size < whole.size(); ++size) {
        survives(whole.substr(0, size));
    }
    for (int i = 0; i < 5'000; ++i) {
        std::string text = whole;
        for (int changes = 0; changes < 3; ++changes) {
            text[random() % text.size()] = static_cast<char>(random());
        }
        survives(text);
    }
}

TEST(Config, RefusesHostileTextOfFullSize) {
    const std::array hostile{repeated("a.", 32'000),      std::string("[").append(repeated("a.", 32'000)),
                             repeated("[", 65'000),       repeated("{", 65'000),
                             repeated("x=[{", 16'000),    repeated("\"", 65'000),
                             repeated("'''", 21'000),     repeated("[a]\n", 16'000),
                             std::string(65'000, 'A'),    repeated("a=1\n", 16'000),
                             repeated("\"a\" . ", 10'000)};

    for (const std::string& text : hostile) {
        EXPECT_EQ(refusal(text).code(), ExitCode::configuration) << text.substr(0, 20);
    }
}

}  // namespace
}  // namespace sluice
