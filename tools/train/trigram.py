"""An interpolated Kneser-Ney 3-gram model of names: what a trained model has to beat (Kneser, Ney 1995; Chen, Goodman 1999)."""

import collections
import math

START = 1
END = 0


class Trigram:
    """Of characters, with one discount for all orders."""

    @staticmethod
    def tuned(names, validation):
        """With the discount, in steps of 0.05, that suits the validation's names best."""
        models = [Trigram(names, step / 20) for step in range(2, 20)]
        return max(models, key=lambda model: model.log_likelihood(validation)[0])

    def __init__(self, names, discount):
        self.discount = discount
        threes = collections.Counter(gram for name in names for gram in Trigram._grams(name))
        # A lower order counts in how many contexts a character appears, not how often.
        twos = collections.Counter(gram[1:] for gram in threes)
        ones = collections.Counter(gram[1:] for gram in twos)
        self._orders = [self._order(counts) for counts in (threes, twos, ones)]
        self._uniform = 1 / len(ones)

    @staticmethod
    def _grams(name):
        line = (START, START, *name, END)
        return (line[i : i + 3] for i in range(len(line) - 2))

    @staticmethod
    def _order(counts):
        totals = collections.Counter()
        kinds = collections.Counter()
        for gram, count in counts.items():
            totals[gram[:-1]] += count
            kinds[gram[:-1]] += 1
        return counts, totals, kinds

    def probability(self, gram):
        """Of gram[2] after gram[0] and gram[1]."""
        value = self._uniform
        for order in (2, 1, 0):
            counts, totals, kinds = self._orders[order]
            context = gram[order:-1]
            if context in totals:
                kept = max(counts[gram[order:]] - self.discount, 0)
                value = (kept + self.discount * kinds[context] * value) / totals[context]
        return value

    def log_likelihood(self, names):
        """(a character, a name): means in nats; the end of a name counts as a character."""
        total = sum(math.log(self.probability(gram)) for name in names for gram in Trigram._grams(name))
        return total / sum(len(name) + 1 for name in names), total / len(names)
