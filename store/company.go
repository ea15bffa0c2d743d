package store

import "time"

// mostPatience bounds how long a group waits for company, however long the disk took for the last one.
const mostPatience = 10 * time.Millisecond

// company has callers who come again and again share groups evenly. Without it, those who are answered together come
// back just after the next group has begun, with the one caller who was late, and the group of one costs a processor
// and the disk as much as theirs: of 32 callers, groups of 31 and 1 in turns. So a group waits until half of the callers are there,
// while the other half is answered: what PostgreSQL does with commit_delay and commit_siblings, but set by what is seen. Nobody waits
// where only one or two come at a time, nor longer than the last group took.
type company struct {
	callers  int           // submissions of the last group, and those that waited at its end
	patience time.Duration // how long to wait for half of them at the most
}

// seek returns when half of the callers wait, or patience or the appender ends.
func (c *company) seek(q *queue, stopped <-chan struct{}) {
	half := (c.callers + 1) / 2
	if q.length() >= half {
		return
	}
	end := time.NewTimer(c.patience)
	defer end.Stop()
	for q.length() < half {
		select {
		case <-q.filled:
		case <-end.C:
			return
		case <-stopped:
			return
		}
	}
}

// ended notes a group and how long it took, and who waits now.
func (c *company) ended(items []item, took time.Duration, q *queue) {
	c.callers, c.patience = q.length(), min(took, mostPatience)
	for i := range items {
		if i == 0 || items[i].of != items[i-1].of {
			c.callers++
		}
	}
}
