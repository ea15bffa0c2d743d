package identities

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"maps"
	"path/filepath"
	"sync"
	"time"

	"ledge/cmd/internal/loop"
	"ledge/cmd/internal/node"
	"ledge/domain"
	"ledge/store/osfile"
)

// tokenUsesFile has the time at which each token was last used, in milliseconds since the Unix epoch. It is not part of the state: a
// power cut may lose the last minute of it.
const tokenUsesFile = "token-uses.json"

// tokenUsesEvery is how often the times are written at most.
const tokenUsesEvery = time.Minute

// tokenUses are the times at which tokens were last used.
type tokenUses struct {
	path string

	mu      sync.Mutex
	last    map[string]int64
	changed bool
}

// openTokenUses reads the file. One that cannot be read is as none.
func openTokenUses(dir string, logger *slog.Logger) *tokenUses {
	u := &tokenUses{path: filepath.Join(dir, tokenUsesFile), last: map[string]int64{}}
	text, err := osfile.Read(u.path, domain.MaxTokens*(domain.MaxName+32))
	if err == nil {
		err = json.Unmarshal(text, &u.last)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		logger.Warn("the times at which tokens were last used cannot be read, and begin anew", "file", u.path, "error", err)
	}
	if err != nil || u.last == nil {
		u.last = map[string]int64{}
	}
	return u
}

// Used notes that a token was used, also if the clock was set back since its last use. The token must exist: so there are no more times
// than tokens.
func (u *tokenUses) Used(name string, at time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if ms := at.UnixMilli(); ms != u.last[name] {
		u.last[name], u.changed = ms, true
	}
}

// Last returns when a token was last used, 0 if never.
func (u *tokenUses) Last(name string) int64 {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.last[name]
}

// flush writes the times that have changed, without those of tokens that are revoked.
func (u *tokenUses) flush(exists func(name string) bool) error {
	u.mu.Lock()
	if !u.changed {
		u.mu.Unlock()
		return nil
	}
	u.changed = false
	last := maps.Clone(u.last)
	u.mu.Unlock()
	for name := range last {
		if !exists(name) {
			u.forget(name)
			delete(last, name)
		}
	}
	text, err := json.Marshal(last)
	if err != nil {
		return err
	}
	return osfile.Write(u.path, text)
}

// forget drops the time of a token that is revoked.
func (u *tokenUses) forget(name string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.last, name)
}

// KeepTokenUses writes the times at which tokens were last used once a minute until ctx ends, and once more then.
func (i *Identities) KeepTokenUses(ctx context.Context) error {
	flush := func(context.Context) {
		err := node.Try(func() error { return i.Uses.flush(func(name string) bool { _, ok := i.Token(name); return ok }) })
		if err != nil {
			i.logger.Warn("the times at which tokens were last used are not written", "error", err)
		}
	}
	err := loop.Every(ctx, tokenUsesEvery, flush)
	flush(ctx)
	return err
}
