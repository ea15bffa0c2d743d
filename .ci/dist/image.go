package main

import (
	"archive/tar"
	"bytes"
	"io"
	"os"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// user is who runs the program in a container, as in the images that others call "nonroot".
const user = 65532

// image writes an image of the binary alone, for docker load and podman load. The program has CA certificates of its own.
func (r release) image(t target, binary string) error {
	content, err := r.layer(binary)
	if err != nil {
		return err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil })
	if err != nil {
		return err
	}
	img, err := mutate.Append(empty.Image, mutate.Addendum{
		Layer: layer, History: v1.History{Created: v1.Time{Time: r.at}, CreatedBy: "make dist"},
	})
	if err != nil {
		return err
	}
	variant := ""
	if t.arm != "" {
		variant = "v" + t.arm
	}
	file, err := img.ConfigFile()
	if err != nil {
		return err
	}
	file = file.DeepCopy()
	file.OS, file.Architecture, file.Variant, file.Created = t.os, t.arch, variant, v1.Time{Time: r.at}
	file.Config = v1.Config{
		Entrypoint: []string{"/usr/bin/ledge"}, Cmd: []string{"serve"}, User: "65532:65532", WorkingDir: "/var/lib/ledge",
		Env: []string{"LEDGE_DATA_DIR=/var/lib/ledge", "PATH=/usr/bin"}, Volumes: map[string]struct{}{"/var/lib/ledge": {}},
		ExposedPorts: map[string]struct{}{"59881/tcp": {}, "59880/tcp": {}, "59882/tcp": {}, "59986/tcp": {}, "59860/tcp": {}, "9090/tcp": {}, "4222/tcp": {}},
		StopSignal:   "SIGTERM",
		Healthcheck:  &v1.HealthConfig{Test: []string{"CMD", "/usr/bin/ledge", "health"}, Interval: 30 * time.Second, Timeout: 10 * time.Second, StartPeriod: time.Minute},
		Labels:       map[string]string{"org.opencontainers.image.title": "Ledge", "org.opencontainers.image.version": r.version, "org.opencontainers.image.licenses": "Apache-2.0"},
	}
	if img, err = mutate.ConfigFile(img, file); err != nil {
		return err
	}
	tag, err := name.NewTag("ledge:latest")
	if err != nil {
		return err
	}
	return tarball.WriteToFile(r.file("ledge_"+r.version+"_"+t.name()+"_image.tar"), tag, img)
}

// layer is the file system of the image: the program, its data folder and a folder for temporary files.
func (r release) layer(binary string) ([]byte, error) {
	program, err := os.ReadFile(binary)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, one := range []struct {
		name  string
		mode  int64
		owner int
		text  []byte
	}{
		{"etc/", 0o755, 0, nil},
		{"etc/passwd", 0o644, 0, []byte("root:x:0:0:root:/:/sbin/nologin\nledge:x:65532:65532:Ledge:/var/lib/ledge:/sbin/nologin\n")},
		{"tmp/", 0o1777, 0, nil},
		{"usr/", 0o755, 0, nil}, {"usr/bin/", 0o755, 0, nil}, {"usr/bin/ledge", 0o755, 0, program},
		{"var/", 0o755, 0, nil}, {"var/lib/", 0o755, 0, nil}, {"var/lib/ledge/", 0o700, user, nil},
	} {
		h := &tar.Header{Name: one.name, Mode: one.mode, Uid: one.owner, Gid: one.owner, Size: int64(len(one.text)), ModTime: r.at, Typeflag: tar.TypeReg, Format: tar.FormatPAX}
		if one.text == nil {
			h.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(one.text); err != nil {
			return nil, err
		}
	}
	return out.Bytes(), w.Close()
}
