// Package loop calls a function again and again in the background.
package loop

import (
	"context"
	"time"
)

// Every calls f at once, and then each time a pause after f has returned, until ctx ends. It returns the error of ctx.
func Every(ctx context.Context, pause time.Duration, f func(context.Context)) error {
	for {
		f(ctx)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}
