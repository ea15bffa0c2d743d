package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"ledge/store/osfile"
)

// ownFile has the password with which Ledge's own commands log in at the tap port of a running server. Who can read it could read the
// log's files as well.
const ownFile = "own-password"

const ownUser = "own"

// ownPassword reads the password, and makes one where there is none, or where others may read it. On a full disk there is one
// that nobody knows: commands beside the server then say why they cannot ask it.
func ownPassword(dir string, logger *slog.Logger) (string, error) {
	path := filepath.Join(dir, ownFile)
	if known, err := readOwnPassword(dir); err == nil && ownersAlone(path) {
		return known, nil
	} else if errors.Is(err, osfile.ErrNotRegular) {
		return "", exitError{exitFolder, err}
	}
	password := rand.Text()
	err := osfile.Write(path, []byte(password+"\n"))
	if osfile.IsFull(err) {
		logger.Warn("the disk is full: ledge log, verify and backup cannot ask this server; free some space and start again", "file", path, "error", err)
		return password, nil
	}
	if err != nil {
		return "", exitError{exitFolder, fmt.Errorf("setting data-dir: %w", err)}
	}
	return password, nil
}

// ownersAlone reports whether nobody but the owner may read a file, as far as the system tells.
func ownersAlone(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && (runtime.GOOS == "windows" || info.Mode().Perm()&0o077 == 0)
}

func readOwnPassword(dir string) (string, error) {
	text, err := osfile.Read(filepath.Join(dir, ownFile), 256)
	password := strings.TrimSpace(string(text))
	if err == nil && len(password) < len(rand.Text()) {
		err = fmt.Errorf("%s: it has no password", filepath.Join(dir, ownFile))
	}
	return password, err
}

// ownTap is where Ledge's own commands connect to the server of a data folder.
func ownTap(dir, pid, tapURL string) (string, error) {
	password, err := readOwnPassword(dir)
	if err != nil {
		return "", exitError{exitFolder, fmt.Errorf("the password for process %s: %w; run as the user of the server, and restart a server that is older or had a full disk when it started", pid, err)}
	}
	u, err := url.Parse(tapURL)
	if err != nil {
		return "", fmt.Errorf("tap of process %s: %w", pid, err)
	}
	u.User = url.UserPassword(ownUser, password)
	return u.String(), nil
}
