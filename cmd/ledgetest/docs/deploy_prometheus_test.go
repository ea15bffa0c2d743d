package docs

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"ledge/bridge/porttest"
	"ledge/cmd/internal/services"
	"ledge/cmd/ledgetest"

	"gopkg.in/yaml.v3"
)

const deploy = "../../../deploy/"

// alertRules are the expressions of deploy/prometheus/alerts.yml, by the name of the alert.
func alertRules(t *testing.T) map[string]string {
	t.Helper()
	var file struct {
		Groups []struct {
			Rules []struct {
				Alert, Expr string
				Annotations struct{ Summary, Cure string }
			}
		}
	}
	if err := yaml.Unmarshal([]byte(ledgetest.MustRead(t, deploy+"prometheus/alerts.yml")), &file); err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, group := range file.Groups {
		for _, rule := range group.Rules {
			if all[rule.Alert] = rule.Expr; rule.Annotations.Summary == "" || rule.Annotations.Cure == "" {
				t.Errorf("alert %s: says not what is wrong, or not what to do", rule.Alert)
			}
		}
	}
	return all
}

// dashboardQueries are those of deploy/grafana/ledge.json, by the title of the panel.
func dashboardQueries(t *testing.T) map[string][]string {
	t.Helper()
	var file struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal([]byte(ledgetest.MustRead(t, deploy+"grafana/ledge.json")), &file); err != nil {
		t.Fatal(err)
	}
	all := map[string][]string{}
	for _, panel := range file.Panels {
		for _, target := range panel.Targets {
			all[panel.Title] = append(all[panel.Title], strings.ReplaceAll(target.Expr, "$__rate_interval", "1m"))
		}
	}
	return all
}

// TestAlertRules has promtool check the files, and run the tests beside them.
func TestAlertRules(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"check", "config"}, {"check", "rules"}, {"test", "rules"}} {
		file := map[string]string{"check config": "prometheus.yml", "check rules": "alerts.yml", "test rules": "alerts_test.yml"}[strings.Join(args, " ")]
		cmd := exec.CommandContext(t.Context(), promtool(t), append(args, file)...)
		cmd.Dir = deploy + "prometheus"
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool %v %s: %v\n%s", args, file, err, out)
		}
	}
}

func promtool(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not installed: Debian's package prometheus")
	}
	return path
}

// sometimes are series that exist once something went wrong, or in secure mode.
var sometimes = []string{"ledge_tls_certificate_expires_seconds", "ledge_identity_refused_total", "ledge_nats_refused_total"}

// TestPrometheus runs Prometheus with the files of deploy, but for the ports, beside a node that has work: it takes the queries of all
// alerts and panels, and every series that they name is there.
func TestPrometheus(t *testing.T) {
	t.Parallel()
	promtool(t)
	p := ledgetest.Start(t, t.TempDir(), "--readings-retention", "camera.> count=1")
	p.AddDevice("cam-1")
	for range 3 {
		p.PostImage("picture")
	}
	query := startPrometheus(t, p)
	ledgetest.Until(t, "all services", func() bool {
		return strings.Contains(query(`count(up{job="ledge"} == 1)`), fmt.Sprintf(`"%d"]`, len(services.All)))
	})
	ledgetest.Until(t, "two scrapes", func() bool { return strings.Contains(query(`min(count_over_time(up[1m])) >= 2`), `"value"`) })

	named := regexp.MustCompile(`\b(ledge|process|go)_[a-z_]+`)
	check := func(where, expression string) {
		if answer := query(expression); !strings.Contains(answer, `"status":"success"`) {
			t.Errorf("%s: %s: %s", where, expression, answer)
		}
		for _, series := range named.FindAllString(expression, -1) {
			if strings.Contains(strings.Join(sometimes, " "), series) {
				continue
			}
			if answer := query(fmt.Sprintf("count(%s)", series)); !strings.Contains(answer, `"value"`) {
				t.Errorf("%s: no series %s: %s", where, series, answer)
			}
		}
	}
	for alert, expression := range alertRules(t) {
		check("alert "+alert, expression)
	}
	for panel, expressions := range dashboardQueries(t) {
		for _, expression := range expressions {
			check("panel "+panel, expression)
		}
	}
}

// startPrometheus runs Prometheus until the test ends, and returns a function that asks it.
func startPrometheus(t *testing.T, p *ledgetest.Node) (query func(string) string) {
	t.Helper()
	config := ledgetest.MustRead(t, deploy+"prometheus/prometheus.yml")
	for _, one := range services.All {
		target := fmt.Sprintf("'127.0.0.1:%d'", one.Port)
		config = strings.Replace(config, target, "'"+strings.TrimPrefix(p.URLs[one.Name], "http://")+"'", 1)
	}
	config = strings.ReplaceAll(config, "interval: 15s", "interval: 200ms")
	dir := t.TempDir()
	ledgetest.MustWrite(t, filepath.Join(dir, "prometheus.yml"), config)
	ledgetest.MustWrite(t, filepath.Join(dir, "alerts.yml"), ledgetest.MustRead(t, deploy+"prometheus/alerts.yml"))
	listen := fmt.Sprint("127.0.0.1:", porttest.Hold(t))
	cmd := exec.CommandContext(t.Context(), "prometheus", "--config.file="+filepath.Join(dir, "prometheus.yml"), "--storage.tsdb.path="+filepath.Join(dir, "data"),
		"--web.listen-address="+listen)
	log := &ledgetest.Output{More: make(chan struct{}, 1)}
	cmd.Stderr = log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
	})
	ledgetest.Until(t, "Prometheus", func() bool {
		answer, err := http.Get("http://" + listen + "/-/ready")
		if err != nil {
			return false
		}
		answer.Body.Close()
		return answer.StatusCode == http.StatusOK
	})
	return func(expression string) string {
		return p.Call(http.MethodGet, "http://"+listen+"/api/v1/query?query="+url.QueryEscape(expression), "", "").Body
	}
}
