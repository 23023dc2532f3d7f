package gateway

import (
	"context"
	"errors"
	"net/http"
	"net/http/httputil"
	"net/url"
	"time"
)

// Headers that the gateway sets and that nobody outside may set.
const (
	headerCaller    = "X-Heron-Caller"
	headerRequestID = "X-Heron-Request-Id"
)

var (
	// ErrNoKey is returned for a request without an API key.
	ErrNoKey = errors.New("the header Authorization is missing")
	// ErrUnknownKey is returned for a key that is not, or no longer, known.
	ErrUnknownKey = errors.New("the API key is not known")
)

// Authenticator finds out who asks.
type Authenticator interface {
	Caller(ctx context.Context, key string) (string, error)
}

// Config says where requests go and how long an answer may take.
type Config struct {
	Backend *url.URL
	Timeout time.Duration
	// Shadow, if set, receives a copy of each request; its answers are thrown away.
	Shadow *url.URL
}

// Proxy forwards authenticated requests to the forecast API.
type Proxy struct {
	config  Config
	auth    Authenticator
	forward *httputil.ReverseProxy
	mirror  func(*http.Request)
}

// NewProxy returns a proxy that is ready to serve.
func NewProxy(config Config, auth Authenticator, mirror func(*http.Request)) *Proxy {
	p := &Proxy{config: config, auth: auth, mirror: mirror}
	p.forward = &httputil.ReverseProxy{Director: p.direct, ErrorHandler: p.failed}
	return p
}

// ServeHTTP authenticates, mirrors and forwards.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	caller, err := p.authenticate(r)
	if err != nil {
		w.Header().Set("WWW-Authenticate", "Bearer")
		http.Error(w, err.Error(), http.StatusUnauthorized)
		return
	}
	r.Header.Set(headerCaller, caller)
	if p.config.Shadow != nil && p.mirror != nil {
		p.mirror(r.Clone(context.Background()))
	}
	ctx, cancel := context.WithTimeout(r.Context(), p.config.Timeout)
	defer cancel()
	p.forward.ServeHTTP(w, r.WithContext(ctx))
}

func (p *Proxy) authenticate(r *http.Request) (string, error) {
	const scheme = "Bearer "
	value := r.Header.Get("Authorization")
	if len(value) <= len(scheme) || value[:len(scheme)] != scheme {
		return "", ErrNoKey
	}
	return p.auth.Caller(r.Context(), value[len(scheme):])
}

// direct points a request at the backend. The caller's key stays here: the backend has no use for it.
func (p *Proxy) direct(r *http.Request) {
	r.URL.Scheme = p.config.Backend.Scheme
	r.URL.Host = p.config.Backend.Host
	r.Header.Del("Authorization")
	r.Header.Del("Cookie")
}

func (p *Proxy) failed(w http.ResponseWriter, _ *http.Request, err error) {
	if errors.Is(err, context.DeadlineExceeded) {
		http.Error(w, "the forecast took too long", http.StatusGatewayTimeout)
		return
	}
	http.Error(w, "the forecast API cannot be reached", http.StatusBadGateway)
}
