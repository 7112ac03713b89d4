#include "core/commit/kept_effects.hpp"

#include <mutex>
#include <utility>

namespace sluice {
namespace {

std::mutex mutex;
bool keeping = false;
std::vector<FileEffect> effects;

}  // namespace

void keep_effect(FileEffect effect) {
    const std::lock_guard lock(mutex);
    if (keeping) {
        effects.push_back(std::move(effect));
    }
}

void start_keeping_effects() {
    const std::lock_guard lock(mutex);
    effects.clear();
    keeping = true;
}

std::vector<FileEffect> kept_effects() {
    const std::lock_guard lock(mutex);
    return effects;
}

std::size_t count_kept_effects() {
    const std::lock_guard lock(mutex);
    return effects.size();
}

void stop_keeping_effects() {
    const std::lock_guard lock(mutex);
    keeping = false;
}

}  // namespace sluice
