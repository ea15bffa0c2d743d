package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"time"
)

// picture is a value with its bytes in Data or, where it has a Digest, at Ref of core-data.
type picture struct {
	ID, Device, MediaType string
	Size                  int64
	Data                  []byte
	Digest, Ref           string // the Digest is SHA-256 in hex
}

var image = regexp.MustCompile(`^image/([\w.+-]+)`)

// save does nothing about what is not a picture, or has been removed since.
func (c consumer) save(p picture) error {
	kind := image.FindStringSubmatch(p.MediaType)
	if kind == nil {
		return nil
	}
	file := filepath.Join(c.folder, p.Device, p.ID+"."+kind[1]) // names and ids have no dot and no slash
	if p.Digest == "" {
		return c.write(file, bytes.NewReader(p.Data), p)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.data+p.Ref, nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	switch answer.StatusCode {
	case http.StatusOK:
		return c.write(file, answer.Body, p)
	case http.StatusNotFound:
		log.Printf("%s has been removed", p.ID)
		return nil
	}
	return fmt.Errorf("GET %s: %s", p.Ref, answer.Status)
}

// write gives the file its name when it is whole and what was posted.
func (c consumer) write(file string, body io.Reader, p picture) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	f, err := os.Create(filepath.Join(c.folder, "incoming"))
	if err != nil {
		return err
	}
	defer f.Close()
	hash := sha256.New()
	n, err := io.Copy(io.MultiWriter(f, hash), body)
	if err != nil {
		return err
	}
	if digest := hex.EncodeToString(hash.Sum(nil)); n != p.Size || p.Digest != "" && digest != p.Digest {
		return fmt.Errorf("%s: got %d bytes with digest %s, want %d with %s", p.ID, n, digest, p.Size, p.Digest)
	}
	if err := f.Close(); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), file); err != nil {
		return err
	}
	log.Print("saved ", file)
	return nil
}
