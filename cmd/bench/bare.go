package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"ledge/domain"

	"github.com/google/uuid"
)

// bareFlag has this program be the bare server; it is not for people.
const bareFlag = "-bare"

// bareServers are the servers that this program can be, by their flags. Each takes the path of its files.
var bareServers = map[string]func(path string) error{bareFlag: serveBare, bareNATSFlag: serveBareNATS}

// bareServer is the least that could take and give devices: it decodes the same JSON into the same structs, appends
// the bytes to a file with one fsync for all that wait, keeps a map, and answers as much. It validates nothing.
type bareServer struct {
	file   *commitFile
	bodies string // folder

	mu      sync.RWMutex
	devices map[string]domain.Device
}

// serveBare serves until its standard input ends, which it does at the latest with the process that started it.
func serveBare(path string) error {
	file, err := createCommitFile(path)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // nothing to wait for
	if err != nil {
		return err
	}
	b := &bareServer{file: file, devices: map[string]domain.Device{}, bodies: filepath.Join(filepath.Dir(path), bareBodies)}
	if err := os.MkdirAll(b.bodies, 0o750); err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+devicePath, b.add)
	mux.HandleFunc("POST "+bodyPath, b.keep)
	mux.HandleFunc("GET "+deviceByName+"{name}", b.get)
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		server.Close()
	}()
	fmt.Fprintf(os.Stderr, "{\"msg\":\"ready\",\"metadata\":\"http://%[1]s\",\"device-rest\":\"http://%[1]s\"}\n", l.Addr())
	if err := server.Serve(l); err != http.ErrServerClosed {
		return err
	}
	return nil
}

// answered is an element of the answer to a POST.
type answered struct {
	APIVersion string `json:"apiVersion"`
	StatusCode int    `json:"statusCode"`
	ID         string `json:"id"`
}

func (b *bareServer) add(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var list []element
	if err == nil {
		err = json.Unmarshal(body, &list)
	}
	if err == nil {
		err = b.file.append(body)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	answers := make([]answered, len(list))
	b.mu.Lock()
	for i, e := range list {
		e.Device.ID = uuid.NewString()
		b.devices[e.Device.Name] = e.Device
		answers[i] = answered{"v2", http.StatusCreated, e.Device.ID}
	}
	b.mu.Unlock()
	reply(w, http.StatusMultiStatus, answers)
}

// bareBodies is the folder with what is posted to a resource.
const bareBodies = "bare-bodies"

// keep writes the body to a file and syncs that.
func (b *bareServer) keep(w http.ResponseWriter, r *http.Request) {
	f, err := os.CreateTemp(b.bodies, "body-*")
	if err == nil {
		_, err = io.Copy(f, r.Body)
		err = errors.Join(err, f.Sync(), f.Close())
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

// found is the answer to a GET.
type found struct {
	APIVersion string        `json:"apiVersion"`
	StatusCode int           `json:"statusCode"`
	Device     domain.Device `json:"device"`
}

func (b *bareServer) get(w http.ResponseWriter, r *http.Request) {
	b.mu.RLock()
	d, ok := b.devices[r.PathValue("name")]
	b.mu.RUnlock()
	if !ok {
		http.NotFound(w, r)
		return
	}
	reply(w, http.StatusOK, found{"v2", http.StatusOK, d})
}

func reply(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // fails when the client is gone
}
