package recorder

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"ledge/bridge/outward"
	"ledge/domain"
)

// record submits requests, in order, until each has its outcome; what the log refuses for now is tried again, with back-off, until ctx
// ends, and then left to Close.
func (r *Recorder) record(ctx context.Context, list []waiting) error {
	for wait := FirstRetry; len(list) > 0; {
		batch := list[:together(list)]
		left, err := r.try(ctx, batch)
		if len(left) == 0 {
			list, wait = list[len(batch):], FirstRetry
			continue
		}
		list = append(left, list[len(batch):]...)
		if ForNow(err) {
			err = Pause(ctx, r.logger, wait, len(list), err)
			wait = min(2*wait, LastRetry)
		}
		if err != nil {
			r.leave(list...)
			return err
		}
	}
	return nil
}

// try returns the requests that are to be submitted again, in order, and why, where that is for now: from the first that was refused on.
// What comes after that may be refused because of it.
func (r *Recorder) try(ctx context.Context, list []waiting) (left []waiting, err error) {
	outcomes, err := r.log.Submit(ctx, requests(list)...)
	if err != nil {
		return list, err
	}
	for i, o := range outcomes {
		switch {
		case o.Err == nil:
			if o.Event == nil {
				r.unrecorded(list[i].Request)
			}
			r.ended(list[i])
		case len(left) > 0:
			left = append(left, list[i])
		case ForNow(o.Err):
			left, err = append(left, list[i]), o.Err
		default:
			left = append(left, r.smaller(list[i], o.Err)...)
		}
	}
	return left, err
}

func (r *Recorder) ended(w waiting) {
	r.room.Release(w.bytes)
	r.tally.End(w.ends)
}

// smaller returns what is recorded in place of a request that is refused for good. Where that is nothing, it is logged, by its name: a
// command may be very long.
func (r *Recorder) smaller(w waiting, why error) (parts []waiting) {
	if c, ok := w.Command.(domain.ProcessNotification); ok {
		parts = r.parts(w, c.Smaller())
	}
	switch c, ok := w.Command.(domain.ProcessNotification); {
	case ok && len(parts) == 1:
		r.refused.Add(1)
		r.logger.Error("delivery to a subscription not recorded, so that it has none", "notification", c.ID, "subscription", nameOf(c), "error", outward.Cut(why.Error()))
	case len(parts) == 0:
		r.refused.Add(1)
		r.logger.Error("outcome not recorded", "command", fmt.Sprintf("%T", w.Command), "id", idOf(w.Command), "error", outward.Cut(why.Error()))
		r.unrecorded(w.Request)
		r.ended(w)
	}
	return parts
}

// parts are requests in place of w; the last of them ends for it.
func (r *Recorder) parts(w waiting, commands []domain.ProcessNotification) (parts []waiting) {
	for i, c := range commands {
		part := waiting{Request: w.Request}
		part.Command, part.EventID = c, uuid.Must(uuid.NewV7()).String()
		if i == len(commands)-1 {
			part.bytes, part.ends = w.bytes, w.ends
		}
		parts = append(parts, part)
	}
	return parts
}

func nameOf(c domain.ProcessNotification) string {
	if len(c.Matched) == 0 {
		return ""
	}
	return c.Matched[0]
}

func idOf(c domain.Command) string {
	switch c := c.(type) {
	case domain.ProcessNotification:
		return c.ID
	case domain.RecordTry:
		return c.ID
	default:
		return ""
	}
}
