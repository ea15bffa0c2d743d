package main

import (
	"context"
	"fmt"

	"ledge/domain"
	"ledge/store/payloads"
)

// collect removes the payloads that no reading refers to: those of posts that were refused after their upload, and of
// readings that left the log before the state was folded again.
func (d *data) collect(ctx context.Context, f *payloads.Files) (removed int, err error) {
	if empty, err := f.Empty(); empty || err != nil {
		return 0, err
	}
	used, err := d.digests(ctx)
	if err != nil {
		return 0, err
	}
	return f.Collect(func(digest string) (bool, error) { return used[digest], ctx.Err() })
}

// digests returns what the readings refer to.
func (d *data) digests(ctx context.Context) (map[string]bool, error) {
	v, done := d.values.View()
	defer done()
	used := map[string]bool{}
	const page = 10_000
	for offset := 0; ; offset += page {
		list, total, err := v.Readings(domain.Page{Offset: offset, Limit: page})
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return nil, fmt.Errorf("list readings: %w", err)
		}
		for _, r := range list {
			if r.Digest != "" {
				used[r.Digest] = true
			}
		}
		if offset+page >= total {
			return used, nil
		}
	}
}
