#include "tools/torture/swapped_input.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <fstream>
#include <system_error>
#include <utility>

#include "core/commit/run_identity.hpp"
#include "core/error.hpp"

namespace sluice::torture {
namespace {

constexpr std::size_t symbols_of_item = 1014;  // of the classifier
constexpr std::uint64_t symbols = 70;

/// Of the same size for every `seed`.
std::string text_items(std::uint64_t items, std::uint64_t seed) {
    std::string bytes;
    for (std::uint64_t item = 0; item < items; ++item) {
        bytes += fmt::format("{:04} words of {:06} and of {:06}\n", item, (item + seed) * 104'729 % 1'000'003,
                             (item + seed) * 15'485'863 % 1'000'003);
    }
    return bytes;
}

std::string packed_items(std::uint64_t items, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::string bytes(items * symbols_of_item, '\0');
    std::ranges::generate(bytes, [&] { return static_cast<char>(random() % symbols); });
    return bytes;
}

void write_file(const std::filesystem::path& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
}

void set_time(const std::filesystem::path& path) {
    constexpr std::chrono::sys_seconds any{std::chrono::seconds(1'700'000'000)};
    std::filesystem::last_write_time(path, std::filesystem::file_time_type::clock::from_sys(any));
}

void fail(const char* what, const std::filesystem::path& path) {
    throw std::system_error(errno, std::generic_category(), fmt::format("{} {}", what, path.native()));
}

/// Sets its output and its stamp in job.json.
void run_undisturbed(const Job& job, const std::filesystem::path& input, Content& content) {
    const Start start{.output = input.native() + ".csv", .settings = {"input.path=" + input.native()}};
    Attempt attempt(job.command(start));
    if (const int code = attempt.wait(); code != 0) {
        throw Error(ExitCode::internal, {.id = "E-RUN-001",
                                         .where = escaped(input.native()),
                                         .what = fmt::format("an undisturbed run has exit code {}", code),
                                         .hint = escaped(job.log())});
    }
    content.output = contents_of(start.output);
    content.stamp = recorded_input(start.output);
    remove_output(start.output);
}

}  // namespace

const char* name_of(Swap swap) {
    switch (swap) {
        case Swap::rename:
            return "rename";
        case Swap::copy_over:
            return "copy-over";
        default:
            return "truncate";
    }
}

SwappedInput::SwappedInput(const Job& job, std::string extension) : extension_(std::move(extension)) {
    const auto items = extension_ == "txt" ? text_items : packed_items;
    const std::uint64_t count = job.options().items;
    contents_ = {{.name = "a", .bytes = items(count, 1)}, {.name = "b", .bytes = items(count, 2)}};
    contents_.push_back({.name = "cut", .bytes = items(count / 2, 1)});
    for (std::size_t i = 0; i < contents_.size(); ++i) {
        const std::filesystem::path path = job.folder() / fmt::format("{}.{}", contents_[i].name, extension_);
        put(i, path);
        run_undisturbed(job, path, contents_[i]);
    }
}

void SwappedInput::put(std::size_t index, const std::filesystem::path& path) const {
    const std::filesystem::path beside = path.native() + ".new";
    write_file(beside, contents_[index].bytes);
    set_time(beside);
    std::filesystem::rename(beside, path);
}

void SwappedInput::swap(Swap how, const std::filesystem::path& path, std::mt19937_64& random) const {
    switch (how) {
        case Swap::rename:
            put(1, path);
            break;
        case Swap::copy_over:
            copy_over(path, random);
            break;
        case Swap::truncate:
            std::filesystem::resize_file(path, contents_[2].bytes.size());
            set_time(path);
            break;
    }
}

/// After truncation, as by cp, or in place, as by rsync --inplace; in one piece or several.
void SwappedInput::copy_over(const std::filesystem::path& path, std::mt19937_64& random) const {
    const std::string& bytes = contents_[1].bytes;
    const int file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | (random() % 2 == 0 ? O_TRUNC : 0));
    if (file < 0) {
        fail("open", path);
    }
    const std::size_t piece = bytes.size() / (1 + random() % 4) + 1;
    for (std::size_t at = 0; at < bytes.size(); at += piece) {
        const std::size_t count = std::min(piece, bytes.size() - at);
        if (::pwrite(file, bytes.data() + at, count, static_cast<off_t>(at)) != static_cast<ssize_t>(count)) {
            fail("write", path);
        }
    }
    ::close(file);
    set_time(path);
}

std::string recorded_input(const std::filesystem::path& output) {
    const auto identity = read_run_identity(run_paths(output, ".csv"));
    if (!identity) {
        return {};
    }
    const auto input = std::ranges::find(identity->settings, "input", &std::pair<std::string, std::string>::first);
    return input == identity->settings.end() ? std::string() : input->second;
}

}  // namespace sluice::torture
