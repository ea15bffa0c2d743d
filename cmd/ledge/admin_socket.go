package main

import (
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
	"strconv"
	"sync"
	"time"
)

// adminSocketFile is the Unix socket at which a running server answers the commands user, token and why. A connection carries one
// adminRequest and one adminAnswer, as JSON.
const adminSocketFile = "admin.sock"

// The bounds of the socket.
const (
	adminConnections  = 4
	adminRequestBytes = 64 << 10
	adminTimeout      = 30 * time.Second // for a request and its answer
)

// adminSocket answers at the socket.
type adminSocket struct {
	listener *net.UnixListener
	folder   *os.File // holds the short path of the socket; nil where it needs none
	answer   func(ctx context.Context, actor string, r adminRequest) (adminAnswer, error)
	logger   *slog.Logger
	running  sync.WaitGroup
	ctx      context.Context
	stop     context.CancelFunc
}

// hasAdminSocket says whether this system has the socket. On Windows a mode does not keep other users away from it.
const hasAdminSocket = runtime.GOOS != "windows"

// openAdminSocket listens, in the place of a socket that a crash has left. The caller has the lock of the folder.
func openAdminSocket(dir string, logger *slog.Logger, answer func(context.Context, string, adminRequest) (adminAnswer, error)) (*adminSocket, error) {
	if err := os.Remove(filepath.Join(dir, adminSocketFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	path, folder, err := adminSocketPath(dir)
	if err != nil {
		return nil, err
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err == nil {
		if err = os.Chmod(filepath.Join(dir, adminSocketFile), 0o600); err != nil {
			l.Close()
		}
	}
	if err != nil {
		folder.Close() // nil is an error that says nothing
		return nil, err
	}
	s := &adminSocket{listener: l, folder: folder, answer: answer, logger: logger}
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
			s.logger.Warn("the socket for ledge user and ledge token does not answer any more; restart to have it again", "error", err)
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
		return json.NewEncoder(c).Encode(adminAnswer{Error: "only the user of the server and root may do this"})
	}
	var r adminRequest
	if err := json.NewDecoder(io.LimitReader(c, adminRequestBytes)).Decode(&r); err != nil {
		return json.NewEncoder(c).Encode(adminAnswer{Error: fmt.Sprintf("the request is no JSON object of at most %d bytes", adminRequestBytes)})
	}
	var a adminAnswer
	err = tried(func() (err error) { a, err = s.answer(s.ctx, "cli:"+userName(uid), r); return err })
	if err != nil {
		a = adminAnswer{Error: err.Error()}
	}
	return json.NewEncoder(c).Encode(a)
}

// close takes no more requests, answers those in work and removes the socket.
func (s *adminSocket) close() {
	s.listener.Close()
	s.running.Wait()
	s.stop()
	s.folder.Close() // nil is an error that says nothing
}

// maxAdminAnswer bounds what a command reads: a list of all tokens.
const maxAdminAnswer = 256 << 20

// askAdminSocket asks the server of a data folder.
func askAdminSocket(ctx context.Context, dir string, r adminRequest) (a adminAnswer, err error) {
	path, folder, err := adminSocketPath(dir)
	if err != nil {
		return a, err
	}
	defer folder.Close() // nil is an error that says nothing
	c, err := (&net.Dialer{}).DialContext(ctx, "unix", path)
	if err != nil {
		return a, fmt.Errorf("ask the running server at %s: %w; run as the user of the server, or stop it first", filepath.Join(dir, adminSocketFile), err)
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { c.Close() })()
	if err := json.NewEncoder(c).Encode(r); err != nil {
		return a, err
	}
	if err := json.NewDecoder(io.LimitReader(c, maxAdminAnswer)).Decode(&a); err != nil {
		return a, fmt.Errorf("the running server gave no answer: %w; list to see whether it is done", err)
	}
	if a.Error != "" {
		return a, errors.New(a.Error)
	}
	return a, nil
}

// userName is the name of a user of the system, or the number if it has none.
func userName(uid int) string {
	id := strconv.Itoa(uid)
	if u, err := user.LookupId(id); err == nil {
		return u.Username
	}
	return id
}
