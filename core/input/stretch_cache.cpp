#include "core/input/stretch_cache.hpp"

#include <algorithm>

namespace sluice {
namespace {

constexpr std::size_t most_bytes = std::size_t{8} << 20;

}  // namespace

std::shared_ptr<const RecordStretch> StretchCache::take(std::uint64_t key, std::uint64_t items, std::uint64_t taken,
                                                        FunctionRef<RecordStretch()> load) {
    const std::shared_ptr<Entry> entry = entry_of(key);
    std::shared_ptr<const RecordStretch> stretch;
    {
        const std::lock_guard lock(entry->loading);
        if (!entry->stretch) {
            entry->stretch = std::make_shared<const RecordStretch>(load());
        }
        stretch = entry->stretch;
    }
    note_taken(entry, items, taken);
    return stretch;
}

std::size_t StretchCache::bytes() const {
    const std::lock_guard lock(mutex_);
    return bytes_;
}

std::shared_ptr<StretchCache::Entry> StretchCache::entry_of(std::uint64_t key) {
    const std::lock_guard lock(mutex_);
    const auto found = std::ranges::find(entries_, key, [](const auto& entry) { return entry->key; });
    return found != entries_.end() ? *found : entries_.emplace_back(std::make_shared<Entry>(key));
}

void StretchCache::note_taken(const std::shared_ptr<Entry>& entry, std::uint64_t items, std::uint64_t taken) {
    const std::lock_guard lock(mutex_);
    const auto drop = [this](auto at) {
        bytes_ -= (*at)->bytes;
        entries_.erase(at);
    };
    const auto at = std::ranges::find(entries_, entry);
    if (at == entries_.end()) {  // it had to leave meanwhile
        return;
    }
    bytes_ += entry->stretch->text.size() - entry->bytes;
    entry->bytes = entry->stretch->text.size();
    entry->taken += taken;
    if (entry->taken >= items) {
        drop(at);
    }
    while (bytes_ > most_bytes && entries_.size() > 1) {
        drop(entries_.begin());
    }
}

}  // namespace sluice
