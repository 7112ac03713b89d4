#include "tests/core/commit/broken_protocols.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <memory>

#include "core/commit/attempt_journal.hpp"
#include "core/commit/clean.hpp"
#include "core/commit/place_file.hpp"
#include "core/commit/publish.hpp"
#include "core/process/fault_point.hpp"

namespace sluice::test {
namespace {

using std::chrono::seconds;

/// All chunks in one part, whose file stays open and is written by chunk number: the shape of the simple ways.
FakeJob one_part(const RunFolder& folder) {
    FakeJob job = folder.job();
    job.chunks_per_part = job.grid().chunks();
    return job;
}

RunIdentity identity_of(const FakeJob& job) {
    return {.items = job.items, .chunk_items = job.chunk_items, .chunks_per_part = job.grid().chunks()};
}

bool is_complete(const RunFolder& folder) {
    return std::filesystem::exists(folder.paths().manifest());
}

/// Makes the manifest of a single part that has `sealed`.
void write_manifest(const RunFolder& folder, const SealedPart& sealed, const std::filesystem::path& scratch) {
    const RunPaths paths = folder.paths();
    const Manifest manifest{.fingerprint = fingerprint(identity_of(one_part(folder))),
                            .attempt = 1,
                            .parts = lay_out(paths, {sealed}),
                            .notes = {}};
    static_cast<void>(place_text(encode(manifest), paths.manifest(), scratch));
}

/// A file that everybody opens and writes to.
class SharedFile {
public:
    explicit SharedFile(const std::filesystem::path& path)
        : file_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644)) {
        expects(file_ >= 0, "a shared file opens");
    }
    SharedFile(const SharedFile&) = delete;
    SharedFile& operator=(const SharedFile&) = delete;
    ~SharedFile() { ::close(file_); }

    void write_at(std::uint64_t offset, std::span<const std::byte> bytes) const {
        expects(::pwrite(file_, bytes.data(), bytes.size(), static_cast<off_t>(offset)) ==
                    static_cast<ssize_t>(bytes.size()),
                "a shared file takes bytes");
    }
    /// What is there; zeros where nothing is.
    [[nodiscard]] std::string read_at(std::uint64_t offset, std::uint64_t length) const {
        std::string text(length, '\0');
        expects(::pread(file_, text.data(), length, static_cast<off_t>(offset)) >= 0, "a shared file can be read");
        return text;
    }

private:
    int file_;
};

/// Writes the chunks that `journal` does not list yet to `data`, in the order of the broken protocol, and returns what
/// it takes the part to be.
SealedPart write_chunks(const FakeJob& job, std::uint64_t variant, const SharedFile& data,
                        const std::filesystem::path& journal_path, bool journal_first) {
    const std::string header = FakeJob::header(job.items);
    data.write_at(0, bytes_of(header));
    const JournalPrefix journal = read_journal(journal_path, 1);
    const SharedFile entries(journal_path);
    std::string whole = header;
    for (const JournalEntry& entry : journal.entries) {
        whole += data.read_at(entry.offset, entry.length);
    }
    for (std::uint64_t id = journal.entries.size(); id < job.grid().chunks(); ++id) {
        const std::string text = job.chunk(id, variant);
        const auto bytes = encode(JournalEntry{.attempt = 1,
                                               .sequence = static_cast<std::uint32_t>(id),
                                               .chunk = id,
                                               .items = job.grid().at(id).count,
                                               .offset = whole.size(),
                                               .length = text.size(),
                                               .checksum = checksum_of(bytes_of(text))});
        if (journal_first) {
            entries.write_at(id * JournalEntry::bytes, bytes);
            fault_point("jrn.synced");
        }
        data.write_at(whole.size(), bytes_of(text));
        fault_point("data.synced");
        if (!journal_first) {
            entries.write_at(id * JournalEntry::bytes, bytes);
            fault_point("jrn.synced");
        }
        whole += text;
    }
    return {.part = 0, .bytes = whole.size(), .checksum = checksum_of(bytes_of(whole)), .items = job.items};
}

void attempt_in_one_folder(const RunFolder& folder, std::uint64_t variant, bool journal_first) {
    if (is_complete(folder)) {
        return;
    }
    const RunPaths paths = folder.paths();
    const FakeJob job = one_part(folder);
    const std::filesystem::path shared = paths.run_folder() / "shared";
    std::filesystem::create_directories(shared);
    establish_run_identity(paths, identity_of(job));
    SealedPart sealed;
    {
        const SharedFile data(shared / "part");
        sealed = write_chunks(job, variant, data, shared / "w0.jrn", journal_first);
    }
    static_cast<void>(place_file(shared / "part", paths.output, shared));
    fault_point("publish.link");
    write_manifest(folder, sealed, shared);
}

}  // namespace

void output_without_attempts(const RunFolder& folder, std::uint64_t variant) {
    attempt_in_one_folder(folder, variant, false);
}

void attempt_with_journal_first(const RunFolder& folder, std::uint64_t variant) {
    attempt_in_one_folder(folder, variant, true);
}

void attempt_with_rename(const RunFolder& folder, std::uint64_t variant) {
    const RunPaths paths = folder.paths();
    const FakeJob job = one_part(folder);
    const PartPlan plan(job.grid(), job.chunks_per_part);
    if (is_complete(folder)) {
        return;
    }
    std::filesystem::create_directories(paths.run_folder());
    establish_run_identity(paths, identity_of(job));
    const AttemptFolder attempt = AttemptFolder::acquire(paths, this_process("", 0), seconds(0));
    Journal journal(journal_file(attempt.folder()), attempt.number());
    PartWriter part(part_file(attempt.folder(), 0), 0, FakeJob::header(job.items));
    for (std::uint64_t id = 0; id < job.grid().chunks(); ++id) {
        const std::string text = job.chunk(id, variant);
        static_cast<void>(
            part.append({.chunk = id, .items = job.grid().at(id).count, .bytes = bytes_of(text)}, EntryType::commit));
    }
    const SealedPart sealed = part.seal();
    fault_point("seal");
    std::filesystem::rename(part_file(attempt.folder(), 0), paths.output);
    fault_point("publish.link");
    write_text_durably(attempt.folder() / "manifest", encode(Manifest{.fingerprint = fingerprint(identity_of(job)),
                                                                      .attempt = attempt.number(),
                                                                      .parts = lay_out(paths, {sealed}),
                                                                      .notes = {}}));
    std::filesystem::rename(attempt.folder() / "manifest", paths.manifest());
    fault_point("publish.manifest");
}

}  // namespace sluice::test
