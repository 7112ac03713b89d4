#include "core/input/record_index.hpp"

#include <algorithm>
#include <bit>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <utility>

#include "core/error.hpp"
#include "core/input/framing.hpp"
#include "core/input/record_reader.hpp"
#include "core/input/record_stitcher.hpp"
#include "core/machine/cgroup.hpp"
#include "core/machine/cpu_set.hpp"
#include "core/process/fault_point.hpp"

namespace sluice {
namespace {

constexpr std::uint32_t most_threads = 32;  // memory is not read faster by more
constexpr std::uint64_t thread_bytes = std::uint64_t{2} << 20;
constexpr std::uint64_t blocks_ahead = 4;  // for each thread: what is scanned before its turn stays in memory

std::uint32_t usable_cpus() {
    const std::uint32_t cpus = std::max(1U, kernel_affinity().size());
    const std::uint32_t quota = read_quota_cpus();
    return quota == 0 ? cpus : std::min(cpus, quota);
}

class Indexer {
public:
    Indexer(const InputFile& file, const RecordRange& range, std::size_t columns, const IndexOptions& options,
            const AddPlaces& add, const std::stop_token& stop)
        : file_(file),
          range_(range),
          columns_(columns),
          block_bytes_(options.block_bytes),
          blocks_((range.end - range.begin + block_bytes_ - 1) / block_bytes_),
          threads_(options.threads),
          scanner_(options.scanner),
          add_(add),
          stop_(stop),
          waiting_(blocks_ahead * threads_),
          stitcher_(file, range, columns) {
        expects(threads_ >= 1 && block_bytes_ >= 1 && block_bytes_ <= longest_record,
                "an index has threads and blocks");
    }

    void run() {
        {
            std::vector<std::jthread> others;
            for (std::uint32_t i = 1; i < threads_; ++i) {
                others.emplace_back([this] { work(); });
            }
            work();
        }
        if (failure_) {
            std::rethrow_exception(failure_);
        }
        if (!is_wrong_ && stitched_ != blocks_) {
            return;  // as asked
        }
        if (is_wrong_ || !stitcher_.finish()) {
            columns_ == 0 ? explain(LineFraming()) : explain(CsvFraming(columns_));
        }
        file_.check_unchanged();
        std::vector<RecordIndex::Checkpoint> last = stitcher_.take_new();
        if (stitcher_.end().record != 0) {
            last.push_back(stitcher_.end());
        }
        add_(last);
    }

private:
    struct Block {
        bool is_scanned = false;
        BlockScan scan;
        std::exception_ptr failure;  // why it could not be
    };

    /// A thread's.
    struct Workspace {
        std::unique_ptr<char[]> text;
        Block block;
    };

    void work() {
        Workspace space;
        while (const std::optional<std::uint64_t> number = claim()) {
            try {
                scan(*number, space);
            } catch (...) {  // its turn comes when all blocks before it were good
                space.block.failure = std::current_exception();
            }
            space.block.is_scanned = true;
            hand_over(*number, space.block);
        }
    }

    std::optional<std::uint64_t> claim() {
        std::unique_lock lock(mutex_);
        const auto is_over = [&] { return is_wrong_ || claimed_ == blocks_ || stop_.stop_requested(); };
        moved_.wait(lock, stop_, [&] { return is_over() || claimed_ < stitched_ + waiting_.size(); });
        return is_over() ? std::nullopt : std::optional(claimed_++);
    }

    [[nodiscard]] std::uint64_t begin_of(std::uint64_t number) const { return range_.begin + number * block_bytes_; }
    [[nodiscard]] std::uint64_t end_of(std::uint64_t number) const {
        return std::min(begin_of(number) + block_bytes_, range_.end);
    }

    /// The byte before a block is read with it: what a quote means depends on both its neighbours.
    void scan(std::uint64_t number, Workspace& space) const {
        if (!space.text) {
            space.text = std::make_unique_for_overwrite<char[]>(block_bytes_ + 1);
            space.text[0] = '\n';
        }
        const std::size_t before = number == 0 ? 0 : 1;
        const std::span text(space.text.get() + 1 - before, end_of(number) - begin_of(number) + before);
        file_.read(begin_of(number) - before, std::as_writable_bytes(text));
        const std::string_view block(space.text.get() + 1, text.size() - before);
        if (columns_ == 0) {
            scanner_.lines(block, space.block.scan);
        } else {
            scanner_.csv(block, space.text[0], columns_, space.block.scan);
        }
    }

    /// Whoever brings the block whose turn it is puts together what is there.
    void hand_over(std::uint64_t number, Block& block) {
        const std::lock_guard lock(mutex_);
        std::swap(waiting_[number % waiting_.size()], block);
        const std::uint64_t stitched_before = stitched_;
        while (!is_wrong_ && waiting_[stitched_ % waiting_.size()].is_scanned) {
            stitch(waiting_[stitched_ % waiting_.size()]);
        }
        if (is_wrong_ || stitched_ != stitched_before) {
            moved_.notify_all();
        }
    }

    void stitch(Block& block) {
        fault_delay("block");
        block.is_scanned = false;
        failure_ = std::exchange(block.failure, nullptr);
        try {
            is_wrong_ = failure_ || !stitcher_.add(block.scan, begin_of(stitched_), end_of(stitched_));
            if (const auto further = stitcher_.take_new(); !is_wrong_ && !further.empty()) {
                add_(further);
            }
        } catch (...) {  // for the thread that waits for all
            failure_ = std::current_exception();
            is_wrong_ = true;
        }
        ++stitched_;
    }

    /// Says what is wrong as RecordReader does, which reads on from where all is well.
    template <class Framing>
    [[noreturn]] void explain(Framing framing) const {
        RecordReader reader(file_, stitcher_.from_open_record(), std::move(framing));
        while (reader.next()) {
        }
        file_.check_unchanged();
        file_.reject("E-INP-034", "changed while it was read for the first time",
                     "do not change the input while a job reads it");
    }

    const InputFile& file_;
    RecordRange range_;
    std::size_t columns_;
    std::size_t block_bytes_;
    std::uint64_t blocks_;
    std::uint32_t threads_;
    BlockScanner scanner_;
    const AddPlaces& add_;
    std::stop_token stop_;

    std::mutex mutex_;  // of all below
    std::condition_variable_any moved_;
    std::uint64_t claimed_ = 0;
    std::uint64_t stitched_ = 0;
    bool is_wrong_ = false;
    std::exception_ptr failure_;
    std::vector<Block> waiting_;  // block `number` at number % size
    RecordStitcher stitcher_;
};

}  // namespace

void RecordIndex::extend(std::span<const Checkpoint> further) {
    checkpoints_.insert(checkpoints_.end(), further.begin(), further.end());
}

std::uint32_t RecordIndex::granularity() const noexcept {
    const std::uint64_t mean = count() == 0 ? 1 : bytes() / count();
    return static_cast<std::uint32_t>(
        std::bit_ceil(std::clamp<std::uint64_t>(checkpoint_bytes / mean, 1, checkpoint_records)));
}

std::vector<RecordIndex::Checkpoint>::const_iterator RecordIndex::first_behind(std::uint64_t record) const {
    return std::ranges::upper_bound(checkpoints_, record, {}, &Checkpoint::record);
}

std::uint64_t RecordIndex::place_before(std::uint64_t record) const {
    return (first_behind(record) - 1)->record;
}

std::uint64_t RecordIndex::place_behind(std::uint64_t record) const {
    return first_behind(record)->record;
}

RecordRange RecordIndex::range_of(std::uint64_t first, std::uint64_t count) const {
    const auto begin = first_behind(first) - 1;
    const auto end = first_behind(first + count - 1);
    return {.begin = begin->offset, .end = end->offset, .line = begin->line, .item = begin->record};
}

std::uint32_t most_index_threads() {
    return std::min(usable_cpus(), most_threads);
}

std::uint32_t choose_index_threads(std::uint32_t cores, std::uint64_t bytes) {
    return static_cast<std::uint32_t>(
        std::clamp<std::uint64_t>(bytes / thread_bytes, 1, std::clamp(cores, 1U, most_threads)));
}

void find_records(const InputFile& file, const RecordRange& range, std::size_t columns, const IndexOptions& options,
                  const AddPlaces& add, const std::stop_token& stop) {
    IndexOptions chosen = options;
    if (chosen.threads == 0) {
        chosen.threads = choose_index_threads(usable_cpus(), range.end - range.begin);
    }
    Indexer(file, range, columns, chosen, add, stop).run();
}

}  // namespace sluice
