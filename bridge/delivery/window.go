package delivery

// window is how many sends may be under way to a server. It begins with one, doubles with each round of successes up to half of what failed
// last, then grows by one with each round, and is halved by a failure: as TCP does with what it sends.
type window struct{ size, threshold float64 }

func newWindow(most int) window { return window{1, float64(most)} }

func (w *window) sends() int { return int(w.size) }

func (w *window) succeeded(most int) {
	if w.size < w.threshold {
		w.size++
	} else {
		w.size += 1 / w.size
	}
	w.size = min(w.size, float64(most))
}

func (w *window) failed() {
	w.size = max(1, w.size/2)
	w.threshold = w.size
}
