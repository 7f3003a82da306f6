//! Accepting connections and handing them to hyper. `axum::serve` would do, but it offers none of hyper's settings.

use std::net::Ipv4Addr;
use std::time::Duration;

use hyper::server::conn::http1::Builder;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpSocket};

use crate::state::State;
use crate::stream::Stream;
use crate::{Failure, Flush, requests, routes};

/// Connections that may wait to be accepted.
const BACKLOG: u32 = 16_384;
/// hyper's one clock covers the wait for a request and the reading of its head; this is the longer of the contract's two.
const HEAD_TIME: Duration = Duration::from_secs(75);

/// Serves for good.
pub fn serve(state: State, port: u16, flush: Flush) -> Result<(), Failure> {
    // As many as are allowed; with fewer, fewer connections are served.
    rlimit::increase_nofile_limit(u64::MAX)?;
    // One worker a CPU that may be used, as `#[tokio::main]` has it.
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let socket = TcpSocket::new_v4()?;
        socket.set_reuseaddr(true)?;
        socket.bind((Ipv4Addr::UNSPECIFIED, port).into())?;
        accept(socket.listen(BACKLOG)?, state, flush).await
    })
}

async fn accept(listener: TcpListener, state: State, flush: Flush) -> Result<(), Failure> {
    let mut http = Builder::new();
    http.auto_date_header(false)
        .title_case_headers(true)
        .half_close(true)
        .max_header_size(16_384)
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME)
        .pipeline_flush(flush == Flush::Pipeline);
    let router = TowerToHyperService::new(routes::router(state));
    let finder = Stream::finder();
    loop {
        let Ok((tcp, _)) = listener.accept().await else {
            // Out of descriptors: waiting lets some come back.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        tcp.set_nodelay(true)?;
        let router = router.clone();
        let service = service_fn(move |request| requests::read(request, router.clone()));
        let (mut stream, http) = (Stream::new(tcp, finder.clone()), http.clone());
        tokio::spawn(async move {
            // A connection's error is its client's affair.
            drop(http.serve_connection(TokioIo::new(&mut stream), service).await);
            drop(stream.end().await);
        });
    }
}
