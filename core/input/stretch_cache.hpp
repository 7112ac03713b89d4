#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/function_ref.hpp"

namespace sluice {

/// Consecutive records of a text, in memory.
struct RecordStretch {
    struct Place {
        std::size_t offset;  ///< In `text`.
        std::size_t length;
        std::uint64_t line;
    };
    std::string text;
    std::vector<Place> records;
};

/// Cache of stretches that several reads share, so that each is read from the file once: the first to need it loads it,
/// and it stays until all its items were taken. Thread-safe. Above 8 MiB the oldest are evicted, since some items may
/// be taken twice or never.
class StretchCache {
public:
    /// The stretch `key` of `items` items, `taken` of which the caller takes. Calls `load`, which may throw, if it is
    /// not cached.
    [[nodiscard]] std::shared_ptr<const RecordStretch> take(std::uint64_t key, std::uint64_t items, std::uint64_t taken,
                                                            FunctionRef<RecordStretch()> load);

    /// Bytes of all cached stretches.
    [[nodiscard]] std::size_t bytes() const;

private:
    struct Entry {
        explicit Entry(std::uint64_t of) : key(of) {}
        const std::uint64_t key;
        std::mutex loading;  // of `stretch`
        std::shared_ptr<const RecordStretch> stretch{};
        std::uint64_t taken = 0;  // and the next: of StretchCache::mutex_
        std::size_t bytes = 0;
    };

    [[nodiscard]] std::shared_ptr<Entry> entry_of(std::uint64_t key);
    void note_taken(const std::shared_ptr<Entry>& entry, std::uint64_t items, std::uint64_t taken);

    mutable std::mutex mutex_;
    std::list<std::shared_ptr<Entry>> entries_;  // the newest last; a few
    std::size_t bytes_ = 0;
};

}  // namespace sluice
