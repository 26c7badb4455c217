//! x
use std::time::Instant; use srlg_host::*;
fn min(label:&str, n:usize, mut f: impl FnMut()) { let mut all=vec![]; for _ in 0..n { let s=Instant::now(); f(); all.push(s.elapsed().as_secs_f64()*1e3);} all.sort_by(f64::total_cmp); println!("{label}: min {:.2} q1 {:.2} median {:.2} ms", all[0], all[n/4],all[n/2]); }
fn main(){
  for pairs in std::env::args().nth(1).map_or(vec![24_000usize,590_000],|_|vec![590_000]) {
  let mut d=SlidingDetector::new(Config::default(), Device::Cpu).unwrap();
  let w:Vec<IpPair>=srlg_evaluation::traffic::distinct_pairs(1, 200_000, 5_000_000).collect();
  for (s,p) in (1..).zip(w.chunks(w.len()/300)) { d.ingest(p).unwrap(); d.skip_to(s).unwrap(); }
  let w:Vec<IpPair>=srlg_evaluation::traffic::distinct_pairs(2, 200_000, pairs as u64).collect(); d.ingest(&w).unwrap();
  let delta=d.take_delta(1).unwrap(); let b=delta.to_bytes().unwrap(); println!("{} {}", delta.recorders(), b.len());
  min("take",100,||{std::hint::black_box(d.take_delta(1).unwrap());});
  if std::env::args().nth(1).is_some() { min("take",1500,||{std::hint::black_box(d.take_delta(1).unwrap());}); return; }
  min("to_bytes",100,||{std::hint::black_box(delta.to_bytes().unwrap());});
  min("both",100,||{std::hint::black_box(d.take_delta(1).unwrap().to_bytes().unwrap());});
  let p=*d.params();
  min("from_bytes",100,||{std::hint::black_box(Delta::from_bytes(&b,&p).unwrap());});
  min("merge",100,||{d.merge(&delta).unwrap();});
  min("snapshot",20,||{std::hint::black_box(d.snapshot().unwrap());});
  let s=d.snapshot().unwrap(); let b=s.to_bytes().unwrap(); println!("snapshot {}",b.len());
  min("to_bytes",20,||{std::hint::black_box(s.to_bytes().unwrap());});
  min("from_bytes",20,||{std::hint::black_box(Snapshot::from_bytes(&b,&p).unwrap());});
  min("restore",20,||{d.restore(&s).unwrap();});
  }
}
