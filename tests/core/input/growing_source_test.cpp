#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <random>
#include <string>
#include <string_view>
#include <thread>

#include "core/input/item_source.hpp"
#include "core/process/fault_point.hpp"
#include "tests/core/input/io_fixture.hpp"

namespace sluice::test {
namespace {

using namespace std::string_literals;

constexpr std::uint64_t unlimited = UINT64_MAX;

/// Lets as many blocks be indexed as a test says. One at a time.
class BlockGate {
public:
    explicit BlockGate(std::uint64_t blocks) {
        blocks_ = blocks;
        fault_hooks = &hooks;
    }
    ~BlockGate() {
        open(unlimited);
        fault_hooks = nullptr;
    }
    BlockGate(const BlockGate&) = delete;
    BlockGate& operator=(const BlockGate&) = delete;

    static void open(std::uint64_t blocks) {
        {
            const std::lock_guard lock(mutex_);
            blocks_ = blocks;
        }
        opened_.notify_all();
    }

private:
    static void pass(std::string_view name) {
        if (name == "block") {
            std::unique_lock lock(mutex_);
            opened_.wait(lock, [] { return blocks_ > 0; });
            --blocks_;
        }
    }

    static inline std::mutex mutex_;
    static inline std::condition_variable opened_;
    static inline std::uint64_t blocks_ = 0;
    static constexpr FaultHooks hooks{.at_point = [](std::string_view) {},
                                      .at_call = [](std::string_view) { return 0; },
                                      .value_at = [](std::string_view) { return 0; },
                                      .is_broken = [](std::string_view) { return false; },
                                      .delay = pass,
                                      .take_variable = [](const char*, int) {}};
};

template <class Action>
std::string failure(Action&& action) {
    const Error error = error_of(action);
    return summary_of(error) + ": " + error.text().what;
}

class GrowingText : public IoTest {
protected:
    /// Lines that differ, of at least `bytes` in all.
    static std::string lines(std::size_t bytes) {
        std::mt19937 random(std::random_device{}());
        std::string text;
        for (int i = 0; text.size() < bytes; ++i) {
            text += fmt::format("{} {}\n", i, std::string(random() % 40, 'x'));
        }
        return text;
    }

    [[nodiscard]] JobConfig::Input txt(const std::string& name) const {
        JobConfig::Input input;
        input.paths = {folder() / name};
        return input;
    }

    [[nodiscard]] std::unique_ptr<ItemSource> growing(const std::string& name, std::uint64_t items = 1) const {
        return open_growing_input(txt(name), codec_, items, 0);
    }

    /// `some` gives the first `known` items of `all`, and not the last one.
    static void expect_known_alone(const ItemSource& some, std::uint64_t known, const ItemSource& all) {
        std::vector<std::byte> expected(known * item_bytes);
        std::vector<std::byte> got(known * item_bytes, std::byte{0xEE});
        all.read(0, static_cast<std::uint32_t>(known), expected);
        some.read(0, static_cast<std::uint32_t>(known), got);
        EXPECT_EQ(got, expected);
        std::vector<std::byte> item(item_bytes);
        EXPECT_THROW(some.read(all.count() - 1, 1, item), ContractViolation);
    }

    static constexpr std::size_t item_bytes = 64;
    FakeCodec codec_{item_bytes};
};

TEST_F(GrowingText, GivesTheItemsThatItKnowsAndNoOthers) {
    const std::string text = lines(2'000'000);
    write("in.txt", text);
    const auto all = open_input(txt("in.txt"), codec_);
    const std::uint64_t count = all->count();
    const BlockGate gate(2);
    const auto some = growing("in.txt");

    const Known known = some->wait_for(1, {});
    EXPECT_FALSE(known.is_all);
    EXPECT_FALSE(some->known().is_all);
    EXPECT_GT(known.count, 0U);
    EXPECT_LT(known.count, count);
    EXPECT_GE(some->estimate_count(), some->known().count);
    EXPECT_NEAR(static_cast<double>(some->estimate_count()), static_cast<double>(count),
                0.1 * static_cast<double>(count));
    EXPECT_GE(some->upper_bound(), count);
    EXPECT_EQ(some->stamp(), all->stamp());
    EXPECT_FALSE(some->indexed_beside());
    expect_known_alone(*some, known.count, *all);

    BlockGate::open(unlimited);
    EXPECT_EQ(some->count(), count);
    EXPECT_EQ(some->estimate_count(), count);
    EXPECT_EQ(some->files().front().items, count);
    EXPECT_TRUE(some->indexed_beside());
    EXPECT_EQ(texts_of(*some, codec_), texts_of(*all, codec_));
}

TEST_F(GrowingText, WaitsUntilAskedToStop) {
    write("in.txt", lines(1'000'000));
    const BlockGate gate(1);
    const auto source = growing("in.txt");
    std::stop_source stop;
    Known known{.count = 0, .is_all = true};

    std::thread waiting([&] { known = source->wait_for(unlimited, stop.get_token()); });
    stop.request_stop();
    waiting.join();

    EXPECT_FALSE(known.is_all);
    BlockGate::open(unlimited);
}

TEST_F(GrowingText, IsGivenUpWhoeverWaits) {
    write("in.txt", lines(3'000'000));
    const BlockGate gate(1);
    const auto source = growing("in.txt");
    Known known{.count = 0, .is_all = true};

    std::thread waiting([&] { known = source->wait_for(unlimited, {}); });
    source->give_up_index();
    BlockGate::open(unlimited);
    waiting.join();

    EXPECT_FALSE(known.is_all);
    static_cast<void>(source->count());  // the index has ended
    EXPECT_FALSE(source->known().is_all);
    EXPECT_FALSE(source->is_counted());
}

TEST_F(GrowingText, SaysWhatIsWrongAsIfItHadBeenFirst) {
    std::string text = lines(2'000'000);
    text[1'500'000] = '\0';
    write("in.txt", text);
    const std::string expected = failure([&] { static_cast<void>(open_input(txt("in.txt"), codec_)); });
    const BlockGate gate(1);
    const auto source = growing("in.txt");
    EXPECT_NO_THROW(static_cast<void>(source->known()));

    BlockGate::open(unlimited);
    const Known known = source->wait_for(unlimited, {});

    EXPECT_FALSE(known.is_all);
    EXPECT_EQ(failure([&] { static_cast<void>(source->known()); }), expected);
    EXPECT_EQ(failure([&] { static_cast<void>(source->count()); }), expected);
    EXPECT_GE(source->estimate_count(), known.count) << "a monitor may still ask";
}

TEST_F(GrowingText, IsCompleteAtOnceWhereThereIsLittle) {
    write("in.txt", "one\ntwo\n");
    EXPECT_EQ(growing("in.txt", 3)->known().count, 2U);

    write("none.txt", "");
    EXPECT_EQ(error_of([&] { static_cast<void>(growing("none.txt")); }).text().id, "E-INP-029");
}

TEST_F(GrowingText, EndsWithItsSource) {
    write("in.txt", lines(3'000'000));
    const BlockGate gate(1);
    std::optional<std::thread> opening;
    {
        const auto source = growing("in.txt");
        opening.emplace([] { BlockGate::open(unlimited); });
    }
    opening->join();
}

/// Several files, of which the next ones are indexed together.
class GrowingFiles : public GrowingText {
protected:
    [[nodiscard]] JobConfig::Input files(std::size_t count) const {
        JobConfig::Input input;
        for (std::size_t i = 0; i < count; ++i) {
            const std::string name = fmt::format("{:03}.txt", i);
            write(name, i % 5 == 3 ? std::string() : lines(1000 + 300 * i));
            input.paths.push_back(folder() / name);
        }
        return input;
    }
};

TEST_F(GrowingFiles, GiveTheItemsThatTheyKnowAndNoOthers) {
    const JobConfig::Input input = files(40);
    const auto all = open_input(input, codec_);
    const std::uint64_t count = all->count();
    const BlockGate gate(10);
    const auto some = open_growing_input(input, codec_, 1, 0);

    const Known known = some->known();
    EXPECT_FALSE(known.is_all);
    EXPECT_GT(known.count, 0U);
    EXPECT_LT(known.count, count);
    EXPECT_GE(some->estimate_count(), some->known().count);
    EXPECT_GE(some->upper_bound(), count);
    EXPECT_EQ(some->stamp(), all->stamp());
    EXPECT_EQ(some->files().size(), 40U);
    EXPECT_EQ(some->files().back().items, 0U) << "not known yet";
    EXPECT_EQ(some->files().back().stamp, all->files().back().stamp);
    some->check_content();
    expect_known_alone(*some, known.count, *all);

    BlockGate::open(unlimited);
    EXPECT_EQ(some->count(), count);
    EXPECT_EQ(some->estimate_count(), count);
    EXPECT_EQ(texts_of(*some, codec_), texts_of(*all, codec_));
    for (std::size_t i = 0; i < 40; ++i) {
        EXPECT_EQ(some->files()[i].first_item, all->files()[i].first_item);
        EXPECT_EQ(some->files()[i].items, all->files()[i].items);
    }
}

TEST_F(GrowingFiles, SayWhatIsWrongAsIfTheyHadBeenIndexedFirst) {
    const JobConfig::Input input = files(40);
    for (const std::size_t bad : {0, 1, 20, 39}) {
        const std::string name = input.paths[bad].filename().native();
        const std::string text = contents(input.paths[bad]);
        write(name, text + "one more\0\n"s);
        const std::string expected = failure([&] { static_cast<void>(open_input(input, codec_)); });

        const std::string got = failure([&] { static_cast<void>(open_growing_input(input, codec_, 1, 0)->count()); });

        EXPECT_EQ(got, expected);
        write(name, text);
    }
}

TEST_F(GrowingFiles, AreGivenUp) {
    const JobConfig::Input input = files(100);
    const BlockGate gate(5);
    const auto source = open_growing_input(input, codec_, 1, 0);
    source->give_up_index();
    BlockGate::open(unlimited);

    const Known known = source->wait_for(unlimited, {});

    EXPECT_FALSE(known.is_all);
    static_cast<void>(source->count());  // the index has ended
    EXPECT_FALSE(source->is_counted());
}

TEST_F(GrowingFiles, AreStillToldWhenTheIndexHasEndedEarly) {
    const JobConfig::Input input = files(40);
    for (const bool is_bad : {true, false}) {
        write("020.txt", is_bad ? "a mistake\0\n"s : "no mistake\n"s);
        const BlockGate gate(5);
        const auto source = open_growing_input(input, codec_, 1, 0);
        const std::vector<SourceFile> expected = source->files();
        const std::uint64_t bytes = source->reads().file;

        if (!is_bad) {
            source->give_up_index();
        }
        BlockGate::open(unlimited);
        EXPECT_FALSE(source->wait_for(unlimited, {}).is_all);

        const std::vector<SourceFile> told = source->files();
        ASSERT_EQ(told.size(), expected.size());
        for (std::size_t i = 0; i < told.size(); ++i) {
            EXPECT_EQ(told[i].path, expected[i].path);
            EXPECT_EQ(told[i].stamp, expected[i].stamp);
        }
        EXPECT_EQ(source->reads().file, bytes);
        EXPECT_GE(source->estimate_count(), told[1].first_item);
    }
}

TEST_F(GrowingFiles, SayWhatIsWrongWithOneThatIsGoneByThen) {
    const JobConfig::Input input = files(40);
    write("039.txt", "a mistake\0\n"s);
    const BlockGate gate(5);
    const auto source = open_growing_input(input, codec_, 1, 0);

    std::filesystem::remove(input.paths.back());
    BlockGate::open(unlimited);

    EXPECT_EQ(error_of([&] { static_cast<void>(source->count()); }).text().id, "E-INP-035");
}

TEST_F(GrowingFiles, AreIndexedFirstWhereThereIsLittle) {
    const JobConfig::Input input = files(3);

    EXPECT_TRUE(open_growing_input(input, codec_, 1, 1'000'000)->known().is_all);
    EXPECT_FALSE(open_growing_input(input, codec_, 1, 1'000'000)->indexed_beside());
}

}  // namespace
}  // namespace sluice::test
