package admin

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"

	"ledge/cmd/internal/datadir"
	"ledge/cmd/internal/exit"
)

// mostAnswerBytes is the length of the longest answer in bytes. The longest one is a list of all tokens.
const mostAnswerBytes = 256 << 20

// ErrAway is in the chain of errors if the running server does not answer.
var ErrAway = errors.New("not available")

// Client asks the running server of a data folder.
type Client struct{ dir string }

// Attach takes the data folder dir, which has to exist, or returns a client of the server that has it. With write the folder may be changed
// until held is released. Otherwise it is only read, and nothing in it is made. Exactly one of held and client is not nil if err is nil.
func Attach(dir string, write bool) (held *datadir.Held, client *Client, err error) {
	if err := datadir.MustExist(dir); err != nil {
		return nil, nil, err
	}
	if write {
		held, err = datadir.Lock(dir)
	} else {
		held, err = datadir.Hold(dir)
	}
	switch {
	case !exit.IsInUse(err):
		return held, nil, err
	case Available:
		return nil, &Client{dir}, nil
	case write:
		return nil, nil, err
	}
	return nil, nil, exit.With(exit.InUse, fmt.Errorf("data folder %s is in use by process %s, which cannot be asked on this system; stop it first", dir, datadir.Owner(dir)))
}

// Owner returns the id of the server's process.
func (c *Client) Owner() string { return datadir.Owner(c.dir) }

// Ask has the server answer a request. before gets the answers that come before the last one; it may be nil. The error has ErrAway in its
// chain if the server does not answer, and the exit code that the server gives it.
func (c *Client) Ask(ctx context.Context, r Request, before func(Answer)) (a Answer, err error) {
	conn, err := c.dial(ctx)
	if err != nil {
		return a, err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	unsent := json.NewEncoder(conn).Encode(r) // a server that refuses this user answers and reads nothing
	limited := &io.LimitedReader{R: conn}
	answers := json.NewDecoder(limited)
	for more := true; more; {
		a, limited.N = Answer{}, mostAnswerBytes
		if err := answers.Decode(&a); err != nil {
			return a, cmp.Or(ctx.Err(), fmt.Errorf("ask the running server: %w: %w; list to see whether a change is done", ErrAway, cmp.Or(unsent, err)))
		}
		if more = a.Text != "" || a.Stream != nil || a.Progress != nil; more && before != nil {
			before(a)
		}
	}
	return a, a.err()
}

// checkServer refuses to send anything to a server of another user than the owner of the data folder, root or this user. Another
// user who may write to the folder could have put the socket there.
func checkServer(dir string, c *net.UnixConn) error {
	uid, err := findPeer(c)
	if err != nil || uid == os.Getuid() || uid == 0 {
		return err
	}
	owner, err := findOwner(dir)
	if err != nil || uid == owner {
		return err
	}
	return exit.With(exit.Folder, fmt.Errorf("a process of the user %s listens at %s, and the data folder belongs to %s; nothing was sent; remove the socket, and let only %[3]s write to the folder",
		userName(uid), filepath.Join(dir, datadir.AdminSocketFile), userName(owner)))
}
