package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"ledge/cmd/internal/datadir"
	"ledge/cmd/internal/exit"
	"ledge/domain"
)

// The bounds of the socket.
const (
	adminConnections  = 16
	adminLasting      = 12 // connections of requests that last: the other four are left for the short ones
	adminRequestBytes = 64 << 10
	adminTimeout      = 30 * time.Second // for a request, and for the client to read an answer
)

// adminHandler answers a request. It may send answers before the one that it returns.
type adminHandler func(ctx context.Context, actor string, r adminRequest, send func(adminAnswer) error) (adminAnswer, error)

// adminSocket answers at the socket.
type adminSocket struct {
	listener *net.UnixListener
	folder   *os.File // holds the short path of the socket; nil where it needs none
	answer   adminHandler
	logger   *slog.Logger
	running  sync.WaitGroup
	lasting  chan struct{}   // a token for each request that lasts
	ctx      context.Context // of requests that last; the stop waits for the others
	stop     context.CancelFunc
}

// hasAdminSocket says whether this system has the socket. On Windows a mode does not keep other users away from it.
const hasAdminSocket = runtime.GOOS != "windows"

// openAdminSocket listens, in the place of a socket that a crash has left. The caller has the lock of the folder.
func openAdminSocket(dir string, logger *slog.Logger, answer adminHandler) (*adminSocket, error) {
	if err := os.Remove(filepath.Join(dir, datadir.AdminSocketFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	path, folder, err := adminSocketPath(dir)
	if err != nil {
		return nil, err
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err == nil {
		if err = os.Chmod(filepath.Join(dir, datadir.AdminSocketFile), 0o600); err != nil {
			l.Close()
		}
	}
	if err != nil {
		folder.Close() // nil is an error that says nothing
		return nil, err
	}
	s := &adminSocket{listener: l, folder: folder, answer: answer, logger: logger, lasting: make(chan struct{}, adminLasting)}
	s.ctx, s.stop = context.WithCancel(context.Background())
	s.running.Go(s.serve)
	return s, nil
}

func (s *adminSocket) serve() {
	places := make(chan struct{}, adminConnections)
	for {
		places <- struct{}{}
		c, err := s.listener.AcceptUnix()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			s.logger.Warn("the socket for local commands such as ledge user and ledge log does not answer any more; restart to have it again", "error", err)
			return
		}
		s.running.Go(func() {
			defer func() { <-places }()
			defer c.Close()
			if err := s.handle(c); err != nil {
				s.logger.Debug("a request at the admin socket failed", "error", err)
			}
		})
	}
}

// handle answers one connection.
func (s *adminSocket) handle(c *net.UnixConn) error {
	if err := c.SetDeadline(time.Now().Add(adminTimeout)); err != nil {
		return err
	}
	uid, err := peerOf(c)
	if err != nil {
		return err
	}
	if uid != os.Getuid() && uid != 0 {
		allowed := slices.Compact([]string{ownName(), "root"})
		return json.NewEncoder(c).Encode(adminAnswer{Error: fmt.Sprintf("the user %s may not use the local commands of this server; run the command as %s", userName(uid), strings.Join(allowed, " or "))})
	}
	var r adminRequest
	if err := json.NewDecoder(io.LimitReader(c, adminRequestBytes)).Decode(&r); err != nil {
		return json.NewEncoder(c).Encode(adminAnswer{Error: fmt.Sprintf("the request is no JSON object of at most %d bytes", adminRequestBytes)})
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if r.lasts() {
		select {
		case s.lasting <- struct{}{}:
			defer func() { <-s.lasting }()
		default:
			return json.NewEncoder(c).Encode(adminAnswer{Error: fmt.Sprintf("%d commands such as `ledge log -f` are connected, and more are not allowed; end one of them", adminLasting)})
		}
		defer context.AfterFunc(s.ctx, cancel)()
		if err := c.SetReadDeadline(time.Time{}); err != nil {
			return err
		}
		go func() { // until the client goes away, or c is closed here
			_, _ = io.Copy(io.Discard, c)
			cancel()
		}()
	}
	send := func(a adminAnswer) error {
		if err := c.SetWriteDeadline(time.Now().Add(adminTimeout)); err != nil {
			return err
		}
		return json.NewEncoder(c).Encode(a)
	}
	var a adminAnswer
	err = tried(func() (err error) { a, err = s.answer(ctx, "cli:"+userName(uid), r, send); return err })
	if err != nil {
		a = adminAnswer{Error: err.Error(), Away: domain.CodeOf(err) == domain.Unavailable}
		if e, ok := errors.AsType[exit.Error](err); ok {
			a.Code = e.Code
		}
	}
	return send(a)
}

// close takes no more requests, ends those that last, answers the others and removes the socket.
func (s *adminSocket) close() {
	s.listener.Close()
	s.stop()
	s.running.Wait()
	s.folder.Close() // nil is an error that says nothing
}

// maxAdminAnswer bounds what a command reads: a list of all tokens.
const maxAdminAnswer = 256 << 20

// askAdminSocket asks the server of a data folder. before gets the answers that come before the last one; nil if there are none. The error
// has errAway in its chain if the server is not there.
func askAdminSocket(ctx context.Context, dir string, r adminRequest, before func(adminAnswer)) (a adminAnswer, err error) {
	path, folder, err := adminSocketPath(dir)
	if err != nil {
		return a, err
	}
	defer folder.Close() // nil is an error that says nothing
	c, err := (&net.Dialer{}).DialContext(ctx, "unix", path)
	if err != nil {
		return a, fmt.Errorf("ask the running server at %s: %w: %w; run as the user of the server, or stop it first", filepath.Join(dir, datadir.AdminSocketFile), errAway, err)
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { c.Close() })()
	if err := checkServer(dir, c.(*net.UnixConn)); err != nil {
		return a, err
	}
	unsent := json.NewEncoder(c).Encode(r) // a server that refuses this user answers and reads nothing
	limited := &io.LimitedReader{R: c}
	answers := json.NewDecoder(limited)
	for more := true; more; {
		a, limited.N = adminAnswer{}, maxAdminAnswer
		if err := answers.Decode(&a); err != nil {
			return a, cmp.Or(ctx.Err(), fmt.Errorf("ask the running server: %w: %w; list to see whether a change is done", errAway, cmp.Or(unsent, err)))
		}
		if more = a.Text != "" || a.Stream != nil || a.Progress != nil; more && before != nil {
			before(a)
		}
	}
	switch {
	case a.Away:
		return a, fmt.Errorf("%w: %s", errAway, a.Error)
	case a.Code > 0:
		return a, exit.With(a.Code, errors.New(a.Error))
	case a.Error != "":
		return a, errors.New(a.Error)
	}
	return a, nil
}

// checkServer refuses to send anything to a server of another user than the owner of the data folder, root or this user. Another
// user who may write to the folder could have put the socket there.
func checkServer(dir string, c *net.UnixConn) error {
	uid, err := peerOf(c)
	if err != nil || uid == os.Getuid() || uid == 0 {
		return err
	}
	owner, err := ownerOf(dir)
	if err != nil || uid == owner {
		return err
	}
	return exit.With(exit.Folder, fmt.Errorf("a process of the user %s listens at %s, and the data folder belongs to %s; nothing was sent; remove the socket, and let only %[3]s write to the folder",
		userName(uid), filepath.Join(dir, datadir.AdminSocketFile), userName(owner)))

}

// userName is the name of a user of the system, or the number if it has none.
func userName(uid int) string {
	id := strconv.Itoa(uid)
	if u, err := user.LookupId(id); err == nil {
		return u.Username
	}
	return id
}
