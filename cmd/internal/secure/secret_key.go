package secure

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"ledge/cmd/internal/config"
	"ledge/cmd/internal/datadir"
	"ledge/cmd/internal/exit"
	"ledge/store/secrets"
)

// secretKeyCredential is the name of the file with the key in $CREDENTIALS_DIRECTORY, where systemd puts credentials. A folder of secrets
// of a container does as well.
const secretKeyCredential = "ledge-secret-key"

// maxSecretKeyFile is the length of the longest file of a key, in bytes.
const maxSecretKeyFile = 64 << 10

// FindSecretKey returns the key of the secret store of the data folder dir, or nil if the store is not to be encrypted.
func FindSecretKey(dir string) (*secrets.AgeKey, error) {
	key, err := ReadSecretKey(dir, credentialFile(secretKeyCredential))
	if err != nil {
		return nil, exit.With(exit.Usage, fmt.Errorf("credential %s: %w", secretKeyCredential, err))
	}
	return key, nil
}

// credentialFile is the file of a systemd credential, if the service has it.
func credentialFile(name string) string {
	dir := os.Getenv("CREDENTIALS_DIRECTORY")
	if dir == "" {
		return ""
	}
	path := filepath.Join(dir, name)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	return path
}

// HubPassword is the name of the file in $CREDENTIALS_DIRECTORY with the password of this node at the NATS cluster of hub-url.
const HubPassword = "ledge-hub-password"

// RegistryToken is the name of the file in $CREDENTIALS_DIRECTORY with the token for the access lists of the Consul of registry.
const RegistryToken = "ledge-registry-token"

// ReadCredential returns the text of a file in $CREDENTIALS_DIRECTORY without white space around it; "" if there is no such file.
func ReadCredential(name string) (string, error) {
	path := credentialFile(name)
	if path == "" {
		return "", nil
	}
	info, err := os.Stat(path)
	if err == nil {
		err = onlyOwnerReads(path, info.Mode())
	}
	var text []byte
	if err == nil {
		text, err = config.ReadFile(path, maxSecretKeyFile)
	}
	if err != nil {
		return "", exit.With(exit.Usage, fmt.Errorf("credential %s: %w", name, err))
	}
	return strings.TrimSpace(string(text)), nil
}

// ReadSecretKey reads a key file; an empty path stands for no key.
func ReadSecretKey(dir, path string) (*secrets.AgeKey, error) {
	if path == "" {
		return nil, nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file; make a key file with `age-keygen -o FILE`", path)
	}
	if within(dir, path) {
		return nil, fmt.Errorf("%s is in the data folder, where each copy of the secrets would have its key beside it; move it elsewhere", path)
	}
	if err := onlyOwnerReads(path, info.Mode()); err != nil {
		return nil, err
	}
	text, err := config.ReadFile(path, maxSecretKeyFile)
	if err != nil {
		return nil, err
	}
	key, err := secrets.ParseKey(string(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return key, nil
}

// onlyOwnerReads refuses a key file that others can read. The mode of a systemd credential shows the access list by which the
// service's user reads it as a right of the group.
func onlyOwnerReads(path string, mode fs.FileMode) error {
	forbidden := fs.FileMode(0o077)
	if dir := os.Getenv("CREDENTIALS_DIRECTORY"); dir != "" && within(dir, path) {
		forbidden = 0o037
	}
	if mode.Perm()&forbidden != 0 && runtime.GOOS != "windows" {
		return fmt.Errorf("%s has mode %04o, by which others than its owner can get at the key; run `chmod 600 %s`, and make a new key if others may know this one", path, mode.Perm(), path)
	}
	return nil
}

// within reports whether a file is in a folder or below it, whatever links lead there.
func within(dir, file string) bool {
	rel, err := filepath.Rel(realPath(dir), realPath(file))
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

func realPath(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	return path
}

// ReadSecrets opens the secret store to read it only, beside a running server too.
func ReadSecrets(paths datadir.Paths) (*secrets.File, error) {
	key, err := FindSecretKey(paths.Data)
	if err != nil {
		return nil, err
	}
	f, err := secrets.OpenReading(paths.Secrets(), key)
	return f, WithSecretsCode(err)
}

// OpenSecrets opens the secret store. With a key, it is encrypted when OpenSecrets returns. Find the key before the data folder is locked:
// root, which may be the only user that can read the key, becomes another user then.
func OpenSecrets(paths datadir.Paths, key *secrets.AgeKey) (*secrets.File, error) {
	f, err := secrets.OpenWith(paths.Secrets(), key)
	return f, WithSecretsCode(err)
}

// WithSecretsCode gives an error of the secret store its exit code.
func WithSecretsCode(err error) error {
	if _, ok := errors.AsType[exit.Error](err); ok || err == nil {
		return err
	}
	if secrets.IsDamage(err) {
		return exit.With(exit.Damaged, err)
	}
	return exit.With(exit.Folder, err)
}

// CheckSecrets checks the file of the secret store with the key of [FindSecretKey]. The note says what could not be checked.
func CheckSecrets(paths datadir.Paths, key *secrets.AgeKey) (note string, err error) {
	whole, err := secrets.Check(paths.Secrets(), key)
	switch {
	case err != nil || whole:
		return "", err
	case key == nil:
		return "secrets.json: encrypted; without the credential ledge-secret-key only its checksum is compared, and it is right", nil
	}
	return "secrets.json: encrypted with another key than the credential ledge-secret-key; only its checksum is compared, and it is right", nil
}
