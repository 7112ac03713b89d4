#include "tests/support/kept_effects.hpp"

#include <mutex>
#include <utility>

namespace sluice {
namespace {

std::mutex mutex;
std::vector<FileEffect> effects;

void keep(FileEffect effect) {
    const std::lock_guard lock(mutex);
    effects.push_back(std::move(effect));
}

}  // namespace

void start_keeping_effects() {
    const std::lock_guard lock(mutex);
    effects.clear();
    effect_keeper = &keep;
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
    effect_keeper = nullptr;
}

}  // namespace sluice
