#include "tools/torture/job.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <fstream>
#include <iterator>
#include <map>
#include <system_error>
#include <utility>

#include "core/commit/attempt_folder.hpp"
#include "core/commit/journal.hpp"
#include "core/commit/manifest.hpp"
#include "core/error.hpp"

namespace sluice::torture {
namespace {

void write_file(const std::filesystem::path& path, std::string_view text) {
    std::ofstream stream(path, std::ios::binary);
    stream.write(text.data(), static_cast<std::streamsize>(text.size()));
    stream.close();
    if (!stream) {
        throw Error(ExitCode::cannot_create, {.id = "E-OUT-021",
                                              .where = escaped(path.native()),
                                              .what = "cannot be written",
                                              .hint = "choose another --folder"});
    }
}

constexpr std::uint32_t chunks_held_back = 2;  // by the generator's models

/// Of items [first, end).
std::string texts(std::uint64_t first, std::uint64_t end) {
    std::string lines;
    for (std::uint64_t item = first; item < end; ++item) {
        lines += fmt::format("{} the {} of the {} and {}\n", item, item * 7919 % 1009, item * 104'729 % 10'007,
                             item * 15'485'863 % 9973);
    }
    return lines;
}

/// The rows of each item, with line ends; without the header.
std::map<std::uint64_t, std::vector<std::string>> rows_by_item(const std::string& csv) {
    std::map<std::uint64_t, std::vector<std::string>> rows;
    std::size_t at = csv.find('\n');
    at = at == std::string::npos ? csv.size() : at + 1;
    while (at < csv.size()) {
        std::size_t end = csv.find('\n', at);
        end = end == std::string::npos ? csv.size() : end + 1;
        const std::string row = csv.substr(at, end - at);
        rows[std::strtoull(row.c_str(), nullptr, 10)].push_back(row);
        at = end;
    }
    return rows;
}

/// Text of the items in [first, end); empty unless each occurs exactly once.
std::string rows_of(const std::map<std::uint64_t, std::vector<std::string>>& rows, std::uint64_t first,
                    std::uint64_t end) {
    std::string text;
    for (std::uint64_t item = first; item < end; ++item) {
        const auto found = rows.find(item);
        if (found == rows.end() || found->second.size() != 1) {
            return {};
        }
        text += found->second.front();
    }
    return text;
}

std::string problem_of_manifest(const std::filesystem::path& output) {
    try {
        const Verification verification = verify_output(run_paths(output, ".csv"));
        return verification.problems.empty() ? std::string() : verification.problems.front();
    } catch (const Error& error) {
        return error.text().what;
    }
}

}  // namespace

Job::Job(std::filesystem::path folder, JobOptions options) : folder_(std::move(folder)), options_(std::move(options)) {
    std::filesystem::create_directories(folder_ / "mpi");
    for (std::uint64_t i = 0; i < options_.files; ++i) {
        write_file(folder_ / fmt::format("items-{:05}.txt", i),
                   texts(options_.items * i / options_.files, options_.items * (i + 1) / options_.files));
    }
    write_file(folder_ / "alphabet", "abcdefghijklmnopqrstuvwxyz");
    const std::string app = options_.generates ? fmt::format(R"(app = "babble"
generate.alphabet = "alphabet"
[input]
count = {}
)",
                                                             options_.items)
                                               : R"(app = "classifier"
output.scores = true
[input]
path = "items-*.txt"
allow_empty = true
)";
    const std::string_view index = options_.is_indexed_beside ? "index = \"beside\"\n" : "";
    write_file(folder_ / "job.toml", fmt::format(
                                         R"({}{}[model]
random = 17
[run]
device = "host"
devices = 1
[pipeline]
chunk_items = {}
)",
                                         app, index, options_.chunk_items));
}

std::uint64_t Job::chunks() const noexcept {
    return (options_.items + options_.chunk_items - 1) / options_.chunk_items;
}

Attempt::Command Job::command(const Start& start) const {
    Attempt::Command command{
        .words = start.before, .variables = start.variables, .folder = folder_, .log = folder_ / "log"};
    // Files left by a killed Open MPI are removed with the folder.
    for (const char* variable :
         {"TMPDIR", "OMPI_MCA_btl_vader_backing_directory", "OMPI_MCA_osc_sm_backing_directory"}) {
        command.variables.push_back(fmt::format("{}={}", variable, (folder_ / "mpi").native()));
    }
    const auto add = [&](const std::vector<std::string>& words) {
        command.words.insert(command.words.end(), words.begin(), words.end());
    };
    std::vector<std::string> faults = start.faults;
    if (options_.has_faults) {
        faults.emplace_back("due::*=salt:1");
        if (options_.generates) {  // else it is done before most kills
            faults.emplace_back("slow.compute=5000");
        }
        if (options_.is_indexed_beside) {  // else it is done before anything else
            faults.emplace_back("slow.block=100000");
        }
    }
    if (!options_.wrong_order.empty()) {
        faults.push_back(options_.wrong_order + "=break");
    }
    if (!faults.empty()) {
        command.variables.push_back(fmt::format("SLUICE_FAULT={}", fmt::join(faults, ",")));
    }
    if (start.ranks > 0) {
        add({options_.mpirun, "--oversubscribe", "-n", std::to_string(start.ranks)});
    }
    // Attempts should continue despite repeated kills.
    add({options_.sluice.native(), "run", "job.toml", "--retry", "--set",
         fmt::format("pipeline.depth={}", start.depth + (options_.generates ? chunks_held_back : 0)), "--set",
         fmt::format("output.path={}", start.output.native())});
    for (const std::string& setting : start.settings) {
        add({"--set", setting});
    }
    return command;
}

std::string Job::log() const {
    return contents_of(folder_ / "log");
}

Damage inspect(const Job& job, const std::filesystem::path& output, const std::vector<std::string>& references) {
    Damage damage{.manifest = problem_of_manifest(output)};
    const std::string text = contents_of(output);
    if (references.size() == 1 && text == references.front()) {
        return damage;
    }
    const auto rows = rows_by_item(text);
    std::vector<std::map<std::uint64_t, std::vector<std::string>>> expected;
    expected.reserve(references.size());
    for (const std::string& reference : references) {
        expected.push_back(rows_by_item(reference));
    }
    const std::uint64_t items = job.options().items;
    const std::uint32_t chunk_items = job.options().chunk_items;
    std::size_t rows_there = 0;
    for (const auto& [item, copies] : rows) {
        damage.doubled += copies.size() - 1;
        damage.different += item >= items ? 1 : 0;
        rows_there += copies.size();
    }
    for (std::uint64_t item = 0; item < items; ++item) {
        damage.lost += rows.contains(item) ? 0 : 1;
    }
    for (std::uint64_t first = 0; first < items; first += chunk_items) {
        const std::uint64_t end = std::min<std::uint64_t>(first + chunk_items, items);
        bool known = false;
        for (const auto& reference : expected) {
            known = known || rows_of(rows, first, end) == rows_of(reference, first, end);
        }
        damage.different += known ? 0 : end - first;
    }
    if (damage.none() && rows_there == items) {  // the same rows: order or header differ
        const auto in_order = [&] {
            std::string all = text.substr(0, text.find('\n') + 1);
            return references.front().starts_with(all) && all + rows_of(rows, 0, items) == text;
        };
        damage.different += in_order() ? 0 : items;
    }
    return damage;
}

void remove_output(const std::filesystem::path& output) {
    std::filesystem::remove(output);
    std::filesystem::remove_all(output.native() + ".sluice");
}

std::optional<std::uint64_t> committed_chunks(const std::filesystem::path& output) {
    const RunPaths paths = run_paths(output, ".csv");
    const std::vector<std::uint32_t> attempts = attempts_of(paths);
    if (attempts.empty()) {
        return std::nullopt;
    }
    std::uint64_t chunks = 0;
    for (const JournalEntry& entry :
         read_journal(journal_file(paths.attempt(attempts.back())), attempts.back()).entries) {
        const bool is_chunk = entry.type == EntryType::commit || entry.type == EntryType::adopted;
        chunks += is_chunk ? 1 : 0;
    }
    return chunks;
}

}  // namespace sluice::torture
