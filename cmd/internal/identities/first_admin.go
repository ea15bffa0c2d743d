package identities

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"ledge/cmd/internal/datadir"
	"ledge/cmd/internal/exit"
	"ledge/domain"
	"ledge/handlers/identity"
	"ledge/store/osfile"
)

// AdminName is the user that the first start creates.
const AdminName = "admin"

// AddFirstAdmin creates the user admin if there is no user. A generated password goes to a file, and to a terminal if there is one.
func (i *Identities) AddFirstAdmin(ctx context.Context, terminal io.Writer, logger *slog.Logger) error {
	users, err := i.Users()
	if err != nil {
		return err
	}
	if len(users) > 0 {
		return i.tidyAdminPassword()
	}
	password, err := givenAdminPassword()
	if err != nil {
		return exit.With(exit.Usage, err)
	}
	generated := password == ""
	path := filepath.Join(i.dir, datadir.AdminPasswordFile)
	if generated {
		password = rand.Text()
		if err := osfile.Write(path, []byte(password+"\n")); err != nil {
			return firstAdminError(logger, err)
		}
	}
	if err := i.AddUser(ctx, "ledge", AdminName, domain.Admin, password, generated); err != nil {
		return firstAdminError(logger, err)
	}
	if !generated {
		return i.forgetAdminPassword(AdminName)
	}
	logger.Info("user admin created; its password is in a file until it is changed", "file", path)
	if terminal != nil {
		fmt.Fprintf(terminal, "\nLog in as user %s with the password %s\nIt is also in %s until you change it.\n\n", AdminName, password, path)
	}
	return nil
}

// firstAdminError lets a start continue without the user if the disk is full.
func firstAdminError(logger *slog.Logger, err error) error {
	if osfile.IsFull(err) || domain.CodeOf(err) == domain.Full {
		logger.Warn("the disk is full: there is no user yet; free some space and start again", "error", err)
		return nil
	}
	return fmt.Errorf("create user %s: %w", AdminName, err)
}

// givenAdminPassword returns the password that the environment sets, or "".
func givenAdminPassword() (string, error) {
	if password := os.Getenv("LEDGE_ADMIN_PASSWORD"); password != "" {
		if err := identity.CheckPassword(password); err != nil {
			return "", fmt.Errorf("LEDGE_ADMIN_PASSWORD: %w", err)
		}
		return password, nil
	}
	name := os.Getenv("LEDGE_ADMIN_PASSWORD_FILE")
	if name == "" {
		return "", nil
	}
	password, err := ReadPasswordFile(name)
	if err == nil {
		err = identity.CheckPassword(password)
	}
	if err != nil {
		return "", fmt.Errorf("LEDGE_ADMIN_PASSWORD_FILE: %w", err)
	}
	return password, nil
}

// ReadPasswordFile returns the first line of a file.
func ReadPasswordFile(name string) (string, error) {
	text, err := osfile.Read(name, MaxPasswordFile)
	if err != nil {
		return "", err
	}
	password, _, _ := strings.Cut(string(text), "\n")
	if password = strings.TrimSuffix(password, "\r"); password == "" {
		return "", fmt.Errorf("%s: its first line is empty; write the password there", name)
	}
	return password, nil
}

// MaxPasswordFile is the length of the longest file of a password, in bytes.
const MaxPasswordFile = 4096

// tidyAdminPassword removes the file of a password that was changed just before a crash.
func (i *Identities) tidyAdminPassword() error {
	if u, ok := i.User(AdminName); ok && u.MustChange {
		return nil
	}
	return i.forgetAdminPassword(AdminName)
}

// forgetAdminPassword removes the file of the generated password after the password of a user has changed.
func (i *Identities) forgetAdminPassword(user string) error {
	if user != AdminName {
		return nil
	}
	err := os.Remove(filepath.Join(i.dir, datadir.AdminPasswordFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("the password is changed, but the file of the old one is still there: %w", err)
	}
	return osfile.SyncDir(i.dir)
}
